import { expect, test } from "bun:test";
import { type Ability, defaultModel } from "../../src/core/model-info.ts";

const able = (...abilities: readonly string[]) => ({
  generates: abilities.includes("generates"),
  embeds: abilities.includes("embeds"),
  ranks: abilities.includes("ranks"),
  fillsGaps: false,
  thinks: false,
});
const CHAT = { id: "chat", kind: "text", abilities: able("generates", "embeds") } as const;
const EMBEDDER = { id: "embedder", kind: "text", abilities: able("embeds") } as const;
const RERANKER = { id: "reranker", kind: "text", abilities: able("ranks") } as const;
const UNKNOWN = { id: "unknown", kind: "text" } as const;
const IMAGES = { id: "images", kind: "image" } as const;

test.each<[Ability, string]>([
  ["generates", "chat"],
  ["embeds", "embedder"],
  ["ranks", "reranker"],
  ["draws", "images"],
])("default for what %s is %s, wherever it is in the list", (ability, id) => {
  const models = [EMBEDDER, RERANKER, CHAT, IMAGES];
  for (const list of [models, models.toReversed()])
    expect<string | undefined>(defaultModel(list, ability)?.id).toBe(id);
});

test("without a fitting model it is the first of the kind, whose refusal names it", () => {
  expect(defaultModel([UNKNOWN, CHAT], "generates")?.id).toBe("unknown");
  expect(defaultModel([CHAT, UNKNOWN], "ranks")?.id).toBe("chat");
  expect(defaultModel([EMBEDDER], "generates")?.id).toBe("embedder");
  expect(defaultModel([CHAT], "speaks")).toBeUndefined();
});
