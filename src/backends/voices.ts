// The neural voice that svc pulls by name, its content pinned: hibari, whose voices were distilled from Kokoro-82M. Weights, dictionaries
// and tables are under the Apache licence 2.0; none of them comes from espeak-ng, which is under the GPL.

import type { Wheel } from "./catalog.ts";

const ASSETS = [
  "hibari.onnx",
  "lexicon_gb_gold.json.gz",
  "lexicon_gb_silver.json.gz",
  "lexicon_us_gold.json.gz",
  "lexicon_us_silver.json.gz",
  "oov.json",
  "oov.onnx",
  "oov_gb.json",
  "oov_gb.onnx",
  "tagger.json.gz",
  "vocab.json",
  "voices.json",
];

/** Everything but the voices of `HUB_VOICES`; its default voice is heart. */
export const VOICE_WHEEL: Wheel = {
  project: "hibari-tts",
  version: "0.2.1",
  file: "hibari_tts-0.2.1-py3-none-any.whl",
  bytes: 14_032_178,
  sha256: "49f2abbbe451c988e7448b5afa08c8a56410535ebb855c0e7d174275df5ca1f3",
  unpackedBytes: 16_100_000,
  libraries: ASSETS.map((name) => `hibari/assets/${name}`),
};

/** A voice of the same project on the hub. */
export interface HubVoice {
  /** Its name in the folder and in `HUB_VOICES_PATH`. */
  readonly file: string;
  readonly bytes: number;
  readonly sha256: string;
}

/** Where the hub has them. */
export const HUB_VOICES_PATH = "maureesewilliams/hibari/resolve/main/voices";

/** As the wheel's voices.json pins them. */
export const HUB_VOICES: Readonly<Record<string, HubVoice>> = {
  emma: {
    file: "bf_emma.int8.onnx",
    bytes: 7_936_868,
    sha256: "f709f0488ee63b583a22189a955aaf4257b9806dd330be3490661e53af0a89c1",
  },
  fenrir: {
    file: "am_fenrir_v2.int8.onnx",
    bytes: 8_031_158,
    sha256: "f59fbd87908c91f827bc21b1b89443757b9a8580db9eee20aa948deb731321f4",
  },
  fable: {
    file: "bm_fable.int8.onnx",
    bytes: 7_936_868,
    sha256: "c28529302f2d27cd12f62625c24425888c4e3c2675583100ec530259136b8bc6",
  },
  kore: {
    file: "af_kore.int8.onnx",
    bytes: 7_936_868,
    sha256: "346885752673e45d42f9864c9e2432094bc4b6385df060d4b83273da764d2fa9",
  },
};
