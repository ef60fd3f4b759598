// The real engine against the fake backend, with pictures in the prompts: they must come out as if each run were alone,
// whatever is shared, preempted, aborted or encoded meanwhile.

import { describe, expect, test } from "bun:test";
import type { ContentPart } from "../../src/core/message.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { fakeTokens } from "../helpers/fake-backend.ts";
import { expectedText, OPTIONS, random, request, World } from "../helpers/world.ts";

const text = (words: string): ContentPart => ({ type: "text", text: words });
/** `cat:12`, `cat:12.wide`, `cat:12.whole`: see partTokens in the fake backend. */
const image = (data: string): ContentPart => ({ type: "image", data });

function chat(content: readonly ContentPart[], extra: Partial<RunRequest> = {}): RunRequest {
  const thinking = { enabled: false };
  const prompt = { type: "chat", messages: [{ role: "user", content }], tools: [], thinking } as const;
  return request([], { prompt: { ...prompt, toolChoice: { type: "none" } }, ...extra });
}

function tokensOf(content: readonly ContentPart[]): number[] {
  return fakeTokens([{ role: "user", content }]).tokens;
}

function cached(world: World, id: number): number {
  const end = world.witness(id).ended;
  return end?.type === "finish" ? end.usage.cachedTokens : -1;
}

describe("seeded traffic with images", () => {
  const modes = ["prefix", "own", "whole"] as const;
  for (const seed of [1, 2, 3, 4, 5, 6]) {
    test(`seed ${seed}: every run ends exactly once and says what it would say alone`, () => {
      const chance = random(seed);
      const pick = <T>(items: readonly T[]): T => items[Math.floor(chance() * items.length)] as T;
      const reuse = modes[seed % 3] ?? "prefix";
      const steps = { renderSteps: seed % 2, encodeSteps: seed };
      const states = reuse !== "whole" ? {} : ({ states: seed < 4 ? "with cells" : "alone" } as const);
      const cells = seed % 2 === 0 ? 300 : 1024;
      const world = new World({ ...OPTIONS, reuse, cells, ...steps, ...states });
      const pictures = ["a:24", "b:40", "c:60.wide", "d:20.whole", "e:8.wide", "f:1"].map(image);
      const piece = (): ContentPart =>
        chance() < 0.4 ? pick(pictures) : text("abcdefghijklmnop".slice(Math.floor(chance() * 16)));
      const opening = [text("look"), pick(pictures), text("at"), pick(pictures)];
      const asked = new Map<number, { content: ContentPart[]; maxTokens: number; adapter: number }>();
      for (let id = 0; id < 500;) {
        if (chance() < 0.4) {
          const own = Array.from({ length: Math.floor(chance() * 5) }, piece);
          const content = [...(chance() < 0.5 ? opening : []), ...own, text("?")];
          const maxTokens = 1 + Math.floor(chance() * 40);
          const adapter = seed > 4 ? Math.floor(chance() * 3) : 0;
          if (tokensOf(content).length >= OPTIONS.contextTokens) continue;
          asked.set(id, { content, maxTokens, adapter });
          world.add(id++, chat(content, { maxTokens }), adapter);
        }
        world.stepAmongAborts(chance, id, 0.05);
      }
      world.drain();
      world.expectEmpty();
      for (const [id, { content, maxTokens, adapter }] of asked) {
        const witness = world.witness(id);
        if (witness.aborted) continue;
        expect(witness.ended?.type).toBe("finish");
        const prompt = tokensOf(content);
        const room = OPTIONS.contextTokens - prompt.length;
        expect(witness.text).toBe(
          expectedText(world.backend, prompt, Math.min(maxTokens, room), adapter).text,
        );
      }
    });
  }
});

describe("images in prompts", () => {
  const options = { ...OPTIONS, cells: 2048, eogOneIn: 1e9, encodeSteps: 3 };
  const question = [text("what is this: "), image("cat:50.wide"), text(" then?")];

  test("the second turn with the same image encodes nothing and computes only what is new", () => {
    const world = new World(options);
    world.add(1, chat(question, { maxTokens: 5 }));
    world.drain();
    expect(world.backend.encoded).toBe(1);
    const answer = text(world.witness(1).text);
    world.add(2, chat([...question, answer, text(" and now?")], { maxTokens: 5 }));
    world.drain();
    expect(world.backend.encoded).toBe(1);
    expect(cached(world, 2)).toBe(tokensOf(question).length + 4);
    expect(world.engine.stats()).toMatchObject({ mediaEncoded: 1, mediaReused: 0 });
  });

  test("the same image at another place is computed there, but not encoded again", () => {
    const world = new World(options);
    world.add(1, chat(question, { maxTokens: 1 }));
    world.drain();
    world.add(2, chat([text("elsewhere "), image("cat:50.wide"), text("?")], { maxTokens: 1 }));
    world.drain();
    expect(cached(world, 2)).toBe(0);
    expect([world.backend.encoded, world.engine.stats().mediaReused]).toEqual([1, 1]);
  });

  test("prefixes that differ within images are shared up to them, never into them", () => {
    const world = new World(options);
    world.add(1, chat(question, { maxTokens: 1 }));
    world.drain();
    const other = [text("what is this: "), image("dog:50.wide"), text(" then?")];
    world.add(2, chat(other, { maxTokens: 3 }));
    world.drain();
    expect(cached(world, 2)).toBe("what is this: ".length);
    expect(world.witness(2).text).toBe(expectedText(world.backend, tokensOf(other), 3).text);
  });

  test("text goes on while an image is encoded, and overtakes it", () => {
    const world = new World({ ...options, encodeSteps: 40 });
    world.add(1, chat(question, { maxTokens: 1 }));
    world.add(2, request([1, 2, 3], { maxTokens: 20 }));
    while (world.witness(2).ended === undefined) expect(world.engine.step(0)).toBe("worked");
    expect(world.engine.pendingEncodings).toBe(1);
    world.drain();
    expect(world.witness(1).ended?.type).toBe("finish");
  });

  test("runs that arrive together with one image encode and compute it once", () => {
    const world = new World(options);
    for (let id = 1; id <= 8; id++) world.add(id, chat([...question, text(`${id}`)], { maxTokens: 2 }));
    world.drain();
    expect(world.backend.encoded).toBe(1);
    expect(world.backend.computedTokens).toBeLessThan(tokensOf(question).length + 8 * (3 + 16));
    world.expectEmpty();
  });

  test("an abort drops the encoding unless somebody else waits for it", () => {
    const world = new World({ ...options, encodeSteps: 100 });
    world.add(1, chat(question, { maxTokens: 1 }));
    world.add(2, chat([text("me too "), image("cat:50.wide"), text("?")], { maxTokens: 1 }));
    for (let i = 0; i < 5; i++) world.engine.step(0);
    world.abort(1);
    expect(world.engine.pendingEncodings).toBe(1);
    world.abort(2);
    expect(world.engine.pendingEncodings).toBe(0);
    expect(world.engine.step(0)).toBe("idle");
    world.expectEmpty();
  });

  test("a failing encoder ends the runs that need it, and no others", () => {
    const bad = fakeTokens([{ role: "user", content: [image("cat:50.wide")] }]).media[0]?.content;
    const world = new World({ ...options, encoderFails: (content) => content === bad });
    world.add(1, chat(question, { maxTokens: 2 }));
    world.add(2, chat([image("dog:9"), text("?")], { maxTokens: 2 }));
    world.drain();
    expect(world.witness(1).ended).toMatchObject({ type: "error", error: { code: "engine_failed" } });
    expect(world.witness(2).ended?.type).toBe("finish");
    world.expectEmpty();
  });

  test("only counted, an image counts its tokens and is not encoded", () => {
    const world = new World(options);
    world.add(1, chat(question, { countOnly: true }));
    world.drain();
    expect(world.witness(1).ended).toMatchObject({ usage: { promptTokens: 14 + 50 + 6 } });
    expect(world.backend.encoded).toBe(0);
  });

  test("what is dropped of a prompt that is too long is dropped with whole images", () => {
    const world = new World(options);
    const content = [image("cat:100"), text("x".repeat(90)), image("dog:60"), text("y".repeat(60))];
    world.add(1, chat(content, { truncate: true, maxTokens: 10 }));
    world.drain();
    expect(world.witness(1).text).toBe(expectedText(world.backend, tokensOf(content.slice(1)), 10).text);
    world.expectEmpty();
  });

  test("an image is computed while others decode, as a whole where it must be", () => {
    for (const data of ["cat:32.whole", "cat:200"]) {
      const world = new World({ ...options, encodeSteps: 0, contextTokens: 1024 });
      world.add(1, request([1, 2, 3], { maxTokens: 400 }));
      world.engine.step(0);
      world.add(2, chat([image(data), text("?")], { maxTokens: 1 }));
      let said = world.witness(1).text.length;
      while (world.witness(2).ended === undefined) {
        world.engine.step(0);
        expect(world.witness(1).text.length).toBe(++said);
      }
      world.drain();
      world.expectEmpty();
    }
  });
});
