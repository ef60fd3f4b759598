// Wire schemas of a messages request. Each schema is the validator, the static type and the OpenAPI component of the same
// name. Unknown fields are accepted everywhere.

import { type Static, Type } from "@sinclair/typebox";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { MESSAGES_MAX, SKILLS_MAX, TOP_LOGPROBS_MAX } from "../shared/limits.ts";
import { TOOL_NAME_CHARS_MAX, TOOLS_MAX } from "../../core/limits.ts";
import { agentProperties } from "../shared/agent.ts";
import { grammarProperties, responseFormatProperties } from "../shared/constraint.ts";
import { jsonObject } from "../shared/json-object.ts";
import { keepAliveProperties } from "../shared/keep-alive.ts";
import { progressProperties } from "../shared/progress.ts";
import {
  orUnlimited,
  endProperties,
  samenessProperties,
  samplingProperties,
  stopStrings,
  truncateProperties,
} from "../shared/sampling.ts";
import { exampleProperties } from "../shared/tool-examples.ts";
import { deferProperties } from "../shared/tools.ts";
import { domainProperties, placeProperties, WebSearchOptions } from "../shared/web-search.ts";
import { cacheProperties, Message, System } from "./blocks.ts";
import { contextManagementProperties } from "./edits.ts";
import { messagesThinkingProperties } from "./thinking.ts";

const UserLocation = Type.Object(
  { type: Type.Literal("approximate"), ...placeProperties },
  { $id: "MessagesWebSearchUserLocation", description: "Place that searches are made for.", ...OPEN },
);

const Tool = Type.Object(
  {
    type: orNull(
      Type.String({
        description:
          "`custom` or absent: a client-executed tool. `web_search_…`, `code_execution_…`, `tool_search_tool_bm25_…`, `tool_search_tool_regex_…`: a server-executed tool.",
      }),
    ),
    name: orNull(
      Type.String({ description: "Name of the tool.", minLength: 1, maxLength: TOOL_NAME_CHARS_MAX }),
    ),
    description: orNull(Type.String({ description: "What the tool does and when to call it." })),
    input_schema: orNull(
      jsonObject("JSON Schema of the arguments, of type `object`. Absent means no arguments."),
    ),
    strict: orNull(Type.Boolean({ description: "Constrain generated arguments to `input_schema`." })),
    ...deferProperties,
    ...exampleProperties,
    ...domainProperties,
    max_uses: orNull(Type.Integer({ minimum: 0, description: "Cap on web searches per answer." })),
    user_location: orNull(UserLocation),
    ...cacheProperties,
  },
  { $id: "MessagesTool", description: "A tool that the model may use.", ...OPEN },
);
export type Tool = Static<typeof Tool>;

const ToolChoice = Type.Object(
  {
    type: Type.Union(
      [Type.Literal("auto"), Type.Literal("any"), Type.Literal("tool"), Type.Literal("none")],
      { description: "Whether the model may or must call a tool." },
    ),
    name: orNull(Type.String({ description: "With type `tool`: the tool that must be called." })),
    disable_parallel_tool_use: orNull(Type.Boolean({ description: "At most one call per answer." })),
  },
  {
    $id: "MessagesToolChoice",
    description: "Whether the model may or must call a tool. Default: `auto`.",
    ...OPEN,
  },
);

const SkillReference = Type.Object(
  {
    type: Type.Literal("custom", { description: "An uploaded skill." }),
    skill_id: Type.String({ description: "Id of an uploaded skill.", minLength: 1 }),
    version: orNull(Type.Union([Type.String(), Type.Integer()], { description: "Default: `latest`." })),
  },
  { $id: "MessagesSkillReference", description: "A skill for the shell.", ...OPEN },
);
export type SkillReference = Static<typeof SkillReference>;

const Container = Type.Object(
  {
    id: orNull(Type.String({ description: "Not supported; omit it." })),
    skills: orNull(Type.Array(SkillReference, { maxItems: SKILLS_MAX })),
  },
  {
    $id: "MessagesContainer",
    description: "With skills, the model gets a shell with these skills.",
    ...OPEN,
  },
);

export const MessagesRequest = Type.Object(
  {
    model: orNull(Type.String({ description: "Model id; `default` or absent selects the default model." })),
    messages: Type.Array(Message, {
      minItems: 1,
      maxItems: MESSAGES_MAX,
      description: "The conversation so far. Adjacent messages of one role are merged.",
    }),
    system: orNull(System),
    max_tokens: orNull(
      orUnlimited(
        0,
        "Cap on generated tokens; 0 only computes the prompt. Default and -1: the rest of the context.",
      ),
    ),
    stop_sequences: orNull(stopStrings("Strings that end the answer. They are never part of the answer.")),
    stream: orNull(Type.Boolean({ description: "Stream the answer as server-sent events." })),
    ...samplingProperties,
    ...samenessProperties,
    ...endProperties,
    logprobs: orNull(Type.Boolean({ description: "Without effect: answers have no such field." })),
    top_logprobs: orNull(
      Type.Integer({ minimum: 0, maximum: TOP_LOGPROBS_MAX, description: "Without effect." }),
    ),
    ...messagesThinkingProperties,
    ...contextManagementProperties,
    ...grammarProperties,
    ...responseFormatProperties,
    tools: orNull(Type.Array(Tool, { maxItems: TOOLS_MAX })),
    tool_choice: orNull(ToolChoice),
    enable_code_execution: orNull(Type.Boolean({ description: "Lets the model run Python on the server." })),
    container: orNull(Container),
    ...agentProperties,
    web_search_options: orNull(WebSearchOptions),
    ...truncateProperties,
    ...keepAliveProperties,
    ...progressProperties,
    ...cacheProperties,
    metadata: orNull(jsonObject("Accepted without effect.")),
  },
  {
    $id: "MessagesMessagesRequest",
    description: "Body of a messages request.",
    ...OPEN,
    examples: [
      {
        model: "default",
        max_tokens: 16,
        system: "You answer in one word.",
        messages: [{ role: "user", content: "What is the capital of France?" }],
      },
    ],
  },
);
export type MessagesRequest = Static<typeof MessagesRequest>;
