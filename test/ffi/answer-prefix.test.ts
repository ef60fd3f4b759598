// Answers that have begun, in forms of real templates: the text follows the markup that the form has before it,
// and what the model adds is passed on as it is, without what the prompt ends with.

import { afterAll, expect, test } from "bun:test";
import { chatTemplates } from "../helpers/templates.ts";
import { says } from "../helpers/template-cases.ts";
import { TemplateBench } from "../helpers/template-bench.ts";
import { markupOf, openVocabulary } from "../helpers/vocabularies.ts";

const templates = chatTemplates();
const BEGUN = "Begun";
const ADDED = "\n and done";
const asked = { messages: [says("user", "Hi")], thinking: { enabled: false } };

if (templates.type === "missing") {
  console.warn(`Skipped: the chat templates of model families could not be had (${templates.reason}).`);
  test.skip(`answers that have begun: ${templates.reason}`, () => {});
} else {
  const { sources } = templates;
  const bench = new TemplateBench(
    openVocabulary("bpe", [...new Set([...sources.values()].flatMap(markupOf))]),
    sources,
  );
  afterAll(() => bench.close());

  test.each([
    ["openai-gpt-oss-120b", "<|start|>assistant<|channel|>final<|message|>"],
    ["upstage-Solar-Open-100B", "<|begin|>assistant<|content|>"],
    ["muse-glimmer", "<|start|>assistant to=user<|message|>"],
    ["Kimi-K3", "<|close|>think<|sep|><|open|>response<|sep|>"],
    ["CohereForAI-c4ai-command-r7b-12-2024-tool_use", "<|END_THINKING|><|START_RESPONSE|>"],
    ["meetkai-functionary-medium-v3.2", "<|end_header_id|>\n\n>>>all\n"],
    ["Qwen-Qwen3-0.6B", "<think>\n\n</think>\n\n"],
    ["MiniMax-M2", "<think>\n</think>"],
    ["HuggingFaceTB-SmolLM3-3B", "<think>\n\n</think>\n"],
    ["unsloth-mistral-Devstral-Small-2507", "[/INST]"],
    ["Qwen3-Coder", "<|im_start|>assistant\n"],
  ])("%s", (name, opening) => {
    const { tokens, parsed } = bench.render(name, { ...asked, answerPrefix: BEGUN }, ADDED);
    const end = [...bench.tokensOfMarkup(opening), ...bench.tokensOfMarkup(BEGUN)];
    expect(tokens.slice(-end.length)).toEqual(end);
    expect(parsed?.content).toBe(ADDED);
  });

  test.each([
    ["HuggingFaceTB-SmolLM3-3B", "Hello."],
    ["ByteDance-Seed-OSS", "Hello."],
  ])("%s: the end of the prompt is no part of an answer", (name, content) => {
    const { parsed } = bench.render(name, asked, content);
    expect(parsed).toEqual({ content, reasoning: "", toolCalls: [] });
  });
}
