// Speeches in turns, with a voice that is none.

import { describe, expect, test } from "bun:test";
import { ServiceError } from "../../../src/core/error.ts";
import { SPEECH_AHEAD } from "../../../src/worker/shared/limits.ts";
import type { SpeechEvent } from "../../../src/core/speech.ts";
import { Speaker } from "../../../src/worker/speech/speaker.ts";
import { ENGLISH } from "../../../src/worker/speech/reading.ts";

/** Says each piece as one sample, its length; `hush` is silence, `fail` fails. */
function stage() {
  const spoken: string[] = [];
  const events: (readonly [id: number, event: SpeechEvent])[] = [];
  const say = (text: string): Int16Array => {
    spoken.push(text);
    if (text.includes("fail")) throw new ServiceError("engine_failed", "it fails");
    return Int16Array.of(text.includes("hush") ? 3 : 1000 + text.length);
  };
  const speaker = new Speaker({ sampleRate: 8000, say }, ENGLISH, (id, event) => events.push([id, event]));
  const all = async (): Promise<void> => {
    while (await speaker.step());
  };
  const of = (id: number): readonly string[] =>
    events
      .filter(([owner]) => owner === id)
      .map(([, event]) =>
        event.type === "error" ? event.error.code : `${event.audio}${event.isLast ? " last" : ""}`,
      );
  return { speaker, spoken, events, all, of };
}

const sample = (value: number): string => Buffer.from(Int16Array.of(value).buffer).toString("base64");

describe("one speech", () => {
  test("is its sentences, and the last one says so", async () => {
    const { speaker, all, of, spoken } = stage();
    speaker.add(1, { text: "One. Three." });
    await all();
    expect(spoken).toEqual(["One.", "Three."]);
    expect(of(1)).toEqual([sample(1004), `${sample(1006)} last`]);
    expect(await speaker.step()).toBe(false);
  });

  test("is not made far ahead of its reader", async () => {
    const { speaker, all, spoken } = stage();
    speaker.add(1, { text: "A man. ".repeat(20) });
    await all();
    expect(spoken).toHaveLength(SPEECH_AHEAD);
    speaker.more(1);
    await all();
    expect(spoken).toHaveLength(SPEECH_AHEAD + 1);
  });

  test("begins with its first sound", async () => {
    const { speaker, all, of } = stage();
    speaker.add(1, { text: "Say hush. Say hush. Loud. Say hush." });
    await all();
    speaker.more(1);
    await all();
    expect(of(1)).toEqual([sample(1005), `${sample(3)} last`]);
  });

  test("leaves out what makes no sound", async () => {
    const { speaker, all, spoken } = stage();
    speaker.add(1, { text: "... One. !!! ()" });
    await all();
    expect(spoken.join(" ")).toContain("One.");
    expect(spoken).not.toContain("...");
  });

  test("that turns out silent is an error", async () => {
    const { speaker, all, of } = stage();
    speaker.add(1, { text: "hush. hush. hush. hush." });
    await all();
    expect(of(1)).toEqual(["unsupported_value"]);
  });

  test("that the voice cannot read is an error at once", async () => {
    const { speaker, of, spoken } = stage();
    speaker.add(1, { text: "日本語" });
    expect(of(1)).toEqual(["unsupported_value"]);
    expect(await speaker.step()).toBe(false);
    expect(spoken).toEqual([]);
  });

  test("ends with the failure of the voice", async () => {
    const { speaker, all, of } = stage();
    speaker.add(1, { text: "One. Now fail. Three." });
    await all();
    expect(of(1)).toEqual([sample(1004), "engine_failed"]);
    speaker.more(1);
    expect(await speaker.step()).toBe(false);
  });
});

describe("several speeches", () => {
  test("take turns, so that each begins early", async () => {
    const { speaker, events } = stage();
    for (let id = 1; id <= 8; id++) speaker.add(id, { text: "One. Two. Three." });
    for (let step = 0; step < 8; step++) await speaker.step();
    expect(events.map(([id]) => id)).toEqual([1, 2, 3, 4, 5, 6, 7, 8]);
  });

  test("go on while one waits for its reader, fails or is dropped", async () => {
    const { speaker, all, of } = stage();
    speaker.add(1, { text: "One. Two. Three. Four." });
    speaker.add(2, { text: "fail" });
    speaker.add(3, { text: "One. Two." });
    speaker.add(4, { text: "One. Two." });
    speaker.abort(4);
    speaker.abort(99);
    speaker.more(99);
    await all();
    expect(of(1)).toHaveLength(SPEECH_AHEAD);
    expect(of(2)).toEqual(["engine_failed"]);
    expect(of(3).at(-1)).toEndWith("last");
    expect(of(4)).toEqual([]);
  });

  test("that are dropped while the voice speaks send nothing more, and one that is read on goes on", async () => {
    const events: number[] = [];
    const says: (() => void)[] = [];
    const say = (): Promise<Int16Array> =>
      new Promise((resolve) => says.push(() => resolve(Int16Array.of(9999))));
    const speaker = new Speaker({ sampleRate: 8000, say }, ENGLISH, (id) => events.push(id));
    speaker.add(1, { text: "One. Two. Three. Four." });
    const turn = async (meanwhile: () => void): Promise<void> => {
      const step = speaker.step();
      meanwhile();
      says.pop()?.();
      await step;
    };
    for (let piece = 0; piece < SPEECH_AHEAD; piece++) await turn(() => speaker.more(1));
    expect(events).toEqual([1, 1]);
    await turn(() => speaker.abort(1));
    expect(events).toEqual([1, 1]);
    expect(await speaker.step()).toBe(false);
  });
});
