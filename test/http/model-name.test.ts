// Names of models as clients of other servers write them.

import { describe, expect, test } from "bun:test";
import { modelAliases } from "../../src/http/model-alias.ts";
import { resolvedName } from "../../src/http/model-name.ts";
import { modelInfo } from "../helpers/model-info.ts";

const MODELS = [
  modelInfo("Qwen3-0.6B-Q8_0"),
  modelInfo("small", { root: "Org/Small-GGUF" }),
  modelInfo("openai/gpt-oss-20b"),
  modelInfo("twin"),
  modelInfo("TWIN"),
];
const aliases = modelAliases([
  { name: "gpt-4o", model: "small" },
  { name: "claude-*", model: "twin" },
]);
const nameOf = (name: string, withPatterns = true): string =>
  resolvedName({ models: () => MODELS, aliases }, name, withPatterns);

describe("a name", () => {
  test.each([
    ["small:latest", "small"],
    ["Small", "small"],
    ["lmstudio/small", "small"],
    ["a/b/small:latest", "small"],
    ["org/small-gguf", "small"],
    ["hf.co/Org/Small-GGUF:latest", "Org/Small-GGUF"],
    ["qwen3-0.6b-q8_0.gguf", "Qwen3-0.6B-Q8_0"],
    ["models/Qwen3-0.6B-Q8_0.gguf", "Qwen3-0.6B-Q8_0"],
    ["GPT-OSS-20B", "GPT-OSS-20B"],
    ["OpenAI/GPT-OSS-20B", "openai/gpt-oss-20b"],
    ["openrouter/gpt-4o", "small"],
    ["gpt-4o:latest", "small"],
    ["anthropic/default", "default"],
    ["", "default"],
    ["  ", "default"],
  ])("%p means %p", (sent, meant) => expect(nameOf(sent)).toBe(meant));

  test.each(["small", "twin", "TWIN", "openai/gpt-oss-20b", "default"])("%p is taken as it is", (name) =>
    expect(nameOf(name)).toBe(name),
  );

  test("that fits several models, or none, or is too long, means nothing", () => {
    for (const name of ["Twin", "smal", "small/other", "small:7b", "/", "x/".repeat(300)])
      expect(nameOf(name)).toBe(name);
  });

  test("that nothing fits costs one look at the models", () => {
    let looks = 0;
    const models = () => (looks++, MODELS);
    resolvedName({ models, aliases }, "x/".repeat(200), true);
    expect(looks).toBe(1);
  });

  test("is compared with patterns as it was sent", () => {
    expect(nameOf("claude-3")).toBe("twin");
    expect(nameOf("anthropic/claude-3")).toBe("anthropic/claude-3");
    expect(nameOf("claude-3", false)).toBe("claude-3");
  });
});
