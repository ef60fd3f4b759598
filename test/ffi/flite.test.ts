// The built-in voices, by their library: what they say sounds like speech, and nothing hostile ends the process.

import { beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { NATIVE } from "../../ffi/embedded.ts";
import { abiHash } from "../../ffi/generate.ts";
import { FliteVoice } from "../../ffi/speech/flite.ts";
import { nativeText } from "../../ffi/text.ts";
import { ABI_HASH } from "../../ffi/speech/symbols.ts";
import { speechNative } from "../helpers/native.ts";
import { pitchOf, shareOfBand } from "../helpers/sound.ts";

const SENTENCE = "The quick brown fox jumps over the lazy dog.";
const header = readFileSync(join(import.meta.dir, "../../ffi/speech/svc_speech.h"), "utf8");

let slt: FliteVoice;
let kal16: FliteVoice;
beforeAll(() => {
  slt = new FliteVoice(speechNative(), "slt");
  kal16 = new FliteVoice(speechNative(), "kal16");
});

function hash(samples: Int16Array): string {
  return createHash("sha256")
    .update(new Uint8Array(samples.buffer, samples.byteOffset, samples.byteLength))
    .digest("hex");
}

test("the committed library was built from this header", () => {
  expect(NATIVE.speechAbi).toBe(abiHash(header));
  expect(nativeText(speechNative().svc_speech_abi_hash())).toBe(ABI_HASH);
});

describe("a sentence", () => {
  test("of nine words has about three seconds", () => {
    for (const voice of [slt, kal16]) {
      const seconds = voice.say(SENTENCE).length / voice.sampleRate;
      expect(seconds).toBeGreaterThan(2.2);
      expect(seconds).toBeLessThan(3.6);
    }
  });

  test("has its energy in the range of voices", () => {
    for (const voice of [slt, kal16]) {
      const samples = voice.say(SENTENCE);
      expect(shareOfBand(samples, voice.sampleRate, [80, 4000])).toBeGreaterThan(0.9);
      expect(shareOfBand(samples, voice.sampleRate, [0, 50])).toBeLessThan(0.02);
    }
  });

  test("has the pitch of a female or male voice", () => {
    const woman = pitchOf(slt.say(SENTENCE), slt.sampleRate);
    expect(woman).toBeGreaterThan(140);
    expect(woman).toBeLessThan(260);
    const man = pitchOf(kal16.say(SENTENCE), kal16.sampleRate);
    expect(man).toBeGreaterThan(75);
    expect(man).toBeLessThan(140);
  });

  test("of kal16 is bit-identical on every run", () => {
    const first = hash(kal16.say(SENTENCE));
    kal16.say("Something else, in between.");
    expect(hash(kal16.say(SENTENCE))).toBe(first);
    expect(first).toBe("365d599f8160094c7d6f9ebe8404d687801cea0e6f0228095e96ec8c74638449");
  });

  test("twice as long has twice the duration", () => {
    const once = slt.say(SENTENCE).length;
    const twice = slt.say(`${SENTENCE} ${SENTENCE}`).length;
    expect(twice / once).toBeGreaterThan(1.7);
    expect(twice / once).toBeLessThan(2.3);
  });
});

describe("no input ends the process", () => {
  test("an error of flite becomes a code and a message", () => {
    const native = speechNative();
    expect(native.svc_speech_selftest_fail()).toBe(-1);
    expect(nativeText(native.svc_speech_last_error())).toBe("flite failed");
    expect(kal16.say("Still here.").length).toBeGreaterThan(8000);
  });

  test("missing handles and names are errors", () => {
    const native = speechNative();
    expect(native.svc_speech_voice(null)).toBeNull();
    expect(native.svc_speech_say(null, null)).toBeNull();
    expect(native.svc_speech_rate(null)).toBe(-1);
    expect(native.svc_speech_samples(null, new Int16Array(1), 1)).toBe(-1);
    native.svc_speech_free(null);
    expect(() => new FliteVoice(native, "nobody")).toThrow("there is no voice of that name");
  });

  test("every ASCII character is spoken or silent", () => {
    for (let code = 1; code < 127; code++) {
      const samples = kal16.say(String.fromCharCode(code));
      expect(samples.length, `character ${code}`).toBeLessThan(16_000 * 4);
    }
  });
});
