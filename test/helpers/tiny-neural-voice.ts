// A neural voice in the layout of the package hibari-tts, a few kilobytes: its networks are real, but know nothing. Each sound is a buzz of
// 50 ms; its pitch says which voice and which sound.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { gzipSync } from "node:zlib";
import { node, onnx, tensor, TYPE, value } from "./onnx.ts";

/** The voices, and the pitch of each, Hz. */
export const TINY_PITCHES = { heart: 200, emma: 320 } as const;
export const TINY_NEURAL_RATE = 24_000;
/** Samples of a sound. */
export const TINY_SOUND_SAMPLES = 4 * 300;
const SOUNDS =
  ' .,!?;:—…()"ˈˌABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyzðəɐɪʊᵻæɛŋʃʌɹθʤʧɑɔɜɡᵊʒ'.split("");
const LETTERS = "abcdefghijklmnopqrstuvwxyz".split("");
const SPECTRUM = ["lh", "theta", "ln", "lr", "phi"];

/** What lexicons of such voices say. */
const GOLD = {
  hello: "həlˈO",
  world: "wˈɜɹld",
  read: { DEFAULT: "ɹˈid", VBD: "ɹˈɛd" },
  ...Object.fromEntries(LETTERS.map((letter) => [letter.toUpperCase(), `ˈ${letter}`])),
};

/** Four frames for each sound, all of one pitch: the voice's, and a hundredth more for each number of a sound. */
function voiceNetwork(pitch: number): Uint8Array {
  return onnx({
    inputs: [value("ids", [1, "L"], TYPE.int64), value("speed", [1])],
    outputs: [...SPECTRUM.map((name) => value(name, [1, 601, "F"])), value("f0", [1, "F"])],
    constants: [
      tensor("pitches", [SOUNDS.length + 1], [pitch, ...SOUNDS.map((_, at) => pitch * (1 + at / 10_000))]),
      tensor("two", [1], [2], TYPE.int64),
      tensor("one", [1], [1], TYPE.int64),
      tensor("frames", [1, 1, 4], [1, 1, 1, 1]),
      tensor("row", [2], [1, -1], TYPE.int64),
      tensor("zeros", [1, 601, 1], Array<number>(601).fill(0)),
      ...SPECTRUM.map((name) => tensor(`${name}_level`, [], [{ lh: -1, ln: -20, lr: -20 }[name] ?? 0])),
    ],
    nodes: [
      node("Gather", ["pitches", "ids"], "sounds"),
      node("Unsqueeze", ["sounds", "two"], "column"),
      node("Mul", ["column", "frames"], "repeated"),
      node("Reshape", ["repeated", "row"], "f0"),
      node("Unsqueeze", ["f0", "one"], "layer"),
      node("Mul", ["layer", "zeros"], "nothing"),
      ...SPECTRUM.map((name) => node("Add", ["nothing", `${name}_level`], name)),
    ],
    metadata: {},
  });
}

/** Reads a word letter by letter. */
function spellingNetwork(): Uint8Array {
  return onnx({
    inputs: [value("chars", [1, "L"], TYPE.int64)],
    outputs: [value("ids", [1, "L"], TYPE.int64)],
    constants: [tensor("zero", [], [0], TYPE.int64)],
    nodes: [node("Add", ["chars", "zero"], "ids")],
    metadata: {},
  });
}

/** Writes the folder of the voice. */
export function writeTinyNeuralVoice(folder: string): void {
  mkdirSync(folder, { recursive: true });
  const write = (name: string, content: unknown): void => {
    const text = JSON.stringify(content);
    writeFileSync(join(folder, name), name.endsWith(".gz") ? gzipSync(text) : text);
  };
  const spelling = { in: LETTERS, out: LETTERS, maxlen: 24 };
  for (const accent of ["us", "gb"]) {
    write(`lexicon_${accent}_gold.json.gz`, GOLD);
    write(`lexicon_${accent}_silver.json.gz`, {});
  }
  for (const name of ["oov", "oov_gb"]) {
    write(`${name}.json`, spelling);
    writeFileSync(join(folder, `${name}.onnx`), spellingNetwork());
  }
  write("tagger.json.gz", {
    tags: ["NN", "VBD"],
    tagdict: { had: "VBD" },
    weights: { "t-1=VBD": { VBD: 1 } },
  });
  write("vocab.json", Object.fromEntries(SOUNDS.map((sound, at) => [sound, at + 1])));
  write("voices.json", {
    heart: { file: "hibari.onnx", british: false },
    emma: { file: "bf_emma.int8.onnx", british: true },
    kore: { file: "af_kore.int8.onnx", british: false },
  });
  writeFileSync(join(folder, "hibari.onnx"), voiceNetwork(TINY_PITCHES.heart));
  writeFileSync(join(folder, "bf_emma.int8.onnx"), voiceNetwork(TINY_PITCHES.emma));
}
