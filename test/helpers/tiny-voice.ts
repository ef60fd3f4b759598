// A voice for sherpa-onnx in a few hundred bytes: each character is a tone of its own, of 50 ms.

import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { node, onnx, tensor, TYPE, value } from "./onnx.ts";

export const TINY_VOICE_RATE = 22_050;
const CHARACTERS = " abcdefghijklmnopqrstuvwxyz0123456789.,!?':-".split("");
const SPECIALS = ["<PAD>", "<BOS>", "<EOS>", "<BLNK>"];
const SAMPLES = 1102;

/** The tone of a character in Hz; 0 is silence. */
export function toneOf(character: string): number {
  const index = CHARACTERS.indexOf(character);
  return index <= 0 ? 0 : 180 + 12 * index;
}

/** Writes the folder of the voice, in place of one that is there. */
export function writeTinyVoice(folder: string): void {
  const turns = [...SPECIALS.map(() => 0), ...CHARACTERS.map(toneOf)].map(
    (hertz) => (2 * Math.PI * hertz) / TINY_VOICE_RATE,
  );
  const model = onnx({
    inputs: [
      value("input", [1, "T"], TYPE.int64),
      value("input_lengths", [1], TYPE.int64),
      value("scales", [3]),
      value("sid", [1], TYPE.int64),
    ],
    outputs: [value("output", [1, 1, "N"])],
    constants: [
      tensor("turns", [turns.length], turns),
      tensor("samples", [], [SAMPLES]),
      tensor("zero", [], [0]),
      tensor("one", [], [1]),
      tensor("loudness", [], [0.3]),
      tensor("last", [1], [2], TYPE.int64),
      tensor("shape", [3], [1, 1, -1], TYPE.int64),
    ],
    nodes: [
      node("Gather", ["turns", "input"], "pitch"),
      node("Unsqueeze", ["pitch", "last"], "column"),
      node("Range", ["zero", "samples", "one"], "time"),
      node("Mul", ["column", "time"], "phase"),
      node("Sin", ["phase"], "wave"),
      node("Mul", ["wave", "loudness"], "soft"),
      node("Reshape", ["soft", "shape"], "output"),
    ],
    metadata: {
      sample_rate: String(TINY_VOICE_RATE),
      n_speakers: "1",
      language: "English",
      comment: "coqui",
      frontend: "characters",
      add_blank: "0",
      use_eos_bos: "0",
      pad_id: "0",
      bos_id: "1",
      eos_id: "2",
      blank_id: "3",
      punctuation: "; : , . ! ?",
      voice: "en-us",
    },
  });
  const tokens = [...SPECIALS, ...CHARACTERS].map((token, id) => `${token} ${id}\n`);
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "model.onnx"), model);
  writeFileSync(join(folder, "tokens.txt"), tokens.join(""));
}
