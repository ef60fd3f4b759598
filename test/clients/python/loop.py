"""Drives one Python library through a tool loop against a server: loop.py LIBRARY BASE_URL.

BASE_URL ends in /v1. The tool returns NOTE, which must be in the answer. Prints OK and what was done, or fails.
"""

import json
import sys

PROMPT = "Run this command: cat note.txt"
NOTE = "391"
SCHEMA = {"type": "object", "properties": {"command": {"type": "string"}}, "required": ["command"]}
DESCRIPTION = "Run a shell command."


def check(text):
    assert NOTE in (text or ""), f"the answer does not hold the note: {text!r}"


def with_openai(url):
    from openai import OpenAI

    client = OpenAI(base_url=url, api_key="none")
    card = client.models.retrieve(client.models.list().data[0].id)
    assert card.object == "model"
    tools = [{"type": "function", "function": {"name": "bash", "description": DESCRIPTION, "parameters": SCHEMA}}]
    messages = [{"role": "user", "content": PROMPT}]
    first = client.chat.completions.create(model="default", messages=messages, tools=tools, temperature=0)
    call = first.choices[0].message.tool_calls[0]
    messages += [first.choices[0].message, {"role": "tool", "tool_call_id": call.id, "content": NOTE}]
    check(client.chat.completions.create(model="default", messages=messages, tools=tools, temperature=0).choices[0].message.content)
    flat = [{"type": "function", "name": "bash", "description": DESCRIPTION, "parameters": SCHEMA, "strict": False}]
    begun = client.responses.create(
        model="default", input=PROMPT, tools=flat, temperature=0, parallel_tool_calls=False, max_tool_calls=4
    )
    made = next(item for item in begun.output if item.type == "function_call")
    output = [{"type": "function_call_output", "call_id": made.call_id, "output": NOTE}]
    ended = client.responses.create(
        model="default", input=output, previous_response_id=begun.id, tools=flat, temperature=0
    )
    check(ended.output_text)
    counted = client.responses.input_tokens.count(model="default", input=PROMPT)
    assert counted.input_tokens > 0
    uploaded = client.files.create(file=("a.txt", b"a"), purpose="user_data")
    assert uploaded.id in [file.id for file in client.files.list()]
    anything = client.chat.completions.create(
        model="default", messages=messages[:1], response_format={"type": "json_object"}, temperature=0, max_tokens=2000
    )
    assert anything.choices[0].finish_reason == "stop", "the toy model found no end; its object proves nothing"
    assert isinstance(json.loads(anything.choices[0].message.content), dict)
    return "models, chat, responses, input_tokens, files, json_object"


def with_anthropic(url):
    from anthropic import Anthropic

    client = Anthropic(base_url=url.removesuffix("/v1"), api_key="none")
    tools = [{"name": "bash", "description": DESCRIPTION, "input_schema": SCHEMA}]
    messages = [{"role": "user", "content": PROMPT}]
    common = {"model": "claude-sonnet-4-5", "max_tokens": 512, "tools": tools, "extra_body": {"temperature": 0}}
    first = client.messages.create(messages=messages, **common)
    call = next(block for block in first.content if block.type == "tool_use")
    result = {"type": "tool_result", "tool_use_id": call.id, "content": NOTE}
    messages += [{"role": "assistant", "content": first.content}, {"role": "user", "content": [result]}]
    with client.messages.stream(messages=messages, **common) as stream:
        check("".join(stream.text_stream))
    assert client.messages.count_tokens(model="claude-sonnet-4-5", messages=messages[:1]).input_tokens > 0
    return "messages, stream, count_tokens, an aliased model"


def with_agents(url):
    from agents import Agent, ModelSettings, OpenAIResponsesModel, Runner, function_tool, set_tracing_disabled
    from openai import AsyncOpenAI

    set_tracing_disabled(True)

    @function_tool
    def bash(command: str) -> str:
        """Run a shell command."""
        return NOTE

    model = OpenAIResponsesModel(model="default", openai_client=AsyncOpenAI(base_url=url, api_key="none"))
    agent = Agent(name="a", model=model, tools=[bash], model_settings=ModelSettings(temperature=0))
    check(Runner.run_sync(agent, PROMPT).final_output)
    return "responses"


def with_pydantic_ai(url):
    from pydantic_ai import Agent
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    model = OpenAIChatModel("default", provider=OpenAIProvider(base_url=url, api_key="none"))
    agent = Agent(model, model_settings={"temperature": 0})

    @agent.tool_plain
    def bash(command: str) -> str:
        """Run a shell command."""
        return NOTE

    check(agent.run_sync(PROMPT).output)
    return "chat"


def with_instructor(url):
    import instructor
    from openai import OpenAI
    from pydantic import BaseModel, ConfigDict

    class Anything(BaseModel):
        model_config = ConfigDict(extra="allow")

    class Command(BaseModel):
        command: str

    client = OpenAI(base_url=url, api_key="none")
    messages = [{"role": "user", "content": PROMPT}]
    ask = {"model": "default", "messages": messages, "temperature": 0, "max_retries": 0}
    as_json = instructor.from_openai(client, mode=instructor.Mode.JSON)
    assert as_json.chat.completions.create(response_model=Anything, max_tokens=500, extra_body={"repetition_penalty": 1.5, "reasoning_effort": "off"}, **ask) is not None
    for mode in (instructor.Mode.TOOLS, instructor.Mode.RESPONSES_TOOLS):
        made = instructor.from_openai(client, mode=mode).chat.completions.create(response_model=Command, **ask)
        assert isinstance(made.command, str)
    return "modes JSON, TOOLS and RESPONSES_TOOLS"


def with_litellm(url):
    import litellm

    tools = [{"type": "function", "function": {"name": "bash", "description": DESCRIPTION, "parameters": SCHEMA}}]
    messages = [{"role": "user", "content": PROMPT}]
    ask = {"model": "openai/default", "api_base": url, "api_key": "none", "tools": tools, "temperature": 0}
    message = litellm.completion(messages=messages, **ask).choices[0].message
    call = message.tool_calls[0]
    messages += [message.model_dump(), {"role": "tool", "tool_call_id": call.id, "content": NOTE}]
    check(litellm.completion(messages=messages, **ask).choices[0].message.content)
    return "chat"


def with_ollama(url):
    from ollama import Client
    from pydantic import BaseModel, Field

    class Command(BaseModel):
        command: str = Field(max_length=40)  # the demo model may not find an end itself

    def bash(command: str) -> str:
        """Run a shell command."""
        return NOTE

    client = Client(host=url.removesuffix("/v1"))
    model = client.list().models[0].model
    assert "completion" in client.show(model).capabilities
    messages = [{"role": "user", "content": PROMPT}]
    ask = {"model": model, "tools": [bash], "options": {"temperature": 0}}
    first = client.chat(messages=messages, **ask).message
    messages += [first, {"role": "tool", "tool_name": first.tool_calls[0].function.name, "content": NOTE}]
    check("".join(chunk.message.content or "" for chunk in client.chat(messages=messages, stream=True, **ask)))
    made = client.chat(model=model, messages=messages[:1], format=Command.model_json_schema(), options={"temperature": 0})
    Command.model_validate_json(made.message.content)
    assert len(client.embed(model=model, input=["a", "b"]).embeddings) == 2
    return "list, show, chat, stream, a schema, embed"


def with_langchain(url):
    from langchain_core.messages import HumanMessage, ToolMessage
    from langchain_core.tools import tool
    from langchain_openai import ChatOpenAI
    from pydantic import BaseModel

    class Command(BaseModel):
        """A shell command."""

        command: str

    @tool
    def bash(command: str) -> str:
        """Run a shell command."""
        return NOTE

    model = ChatOpenAI(base_url=url, api_key="none", model="default", temperature=0)
    with_tools = model.bind_tools([bash])
    messages = [HumanMessage(PROMPT)]
    first = with_tools.invoke(messages)
    messages += [first, ToolMessage(NOTE, tool_call_id=first.tool_calls[0]["id"])]
    check("".join(str(chunk.content) for chunk in with_tools.stream(messages)))
    for method in ("json_schema", "function_calling"):
        assert isinstance(model.with_structured_output(Command, method=method).invoke(PROMPT), Command)
    return "chat, stream, structured output in two ways"


LIBRARIES = {
    "ollama": with_ollama,
    "langchain-openai": with_langchain,
    "openai": with_openai,
    "anthropic": with_anthropic,
    "openai-agents": with_agents,
    "pydantic-ai-slim": with_pydantic_ai,
    "instructor": with_instructor,
    "litellm": with_litellm,
}

if __name__ == "__main__":
    print("OK:", LIBRARIES[sys.argv[1]](sys.argv[2]))
