// Which files of a folder make up a voice, by their names: one for sherpa-onnx, or a neural voice for svc's own engine. Reads no disk.

import { Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";

/** Names within the folder. */
export interface VoiceFiles {
  readonly model: string;
  readonly tokens: string;
  readonly lexicon?: string;
  /** Folder of espeak-ng's data, which many voices need. */
  readonly dataDir?: string;
}

/** The files, or what is wrong with the folder. */
export function chooseVoiceFiles(names: readonly string[]): VoiceFiles | string {
  const models = names.filter((name) => name.endsWith(".onnx"));
  const [only] = models;
  const model = models.includes("model.onnx") ? "model.onnx" : only;
  if (model === undefined) return "it has no .onnx file";
  if (models.length > 1 && model !== "model.onnx") return `it has several .onnx files: ${models.join(", ")}`;
  if (!names.includes("tokens.txt")) return "it has no tokens.txt";
  if (names.includes("voices.bin")) return "it is not a VITS voice";
  return {
    model,
    tokens: "tokens.txt",
    ...(names.includes("lexicon.txt") ? { lexicon: "lexicon.txt" } : {}),
    ...(names.includes("espeak-ng-data") ? { dataDir: "espeak-ng-data" } : {}),
  };
}

/** Files of a neural voice, as the package hibari-tts names them. */
export const VOICE_FILES = {
  alphabet: "vocab.json",
  voices: "voices.json",
  tagger: "tagger.json.gz",
  american: {
    gold: "lexicon_us_gold.json.gz",
    silver: "lexicon_us_silver.json.gz",
    unknown: "oov.onnx",
    unknownTable: "oov.json",
  },
  british: {
    gold: "lexicon_gb_gold.json.gz",
    silver: "lexicon_gb_silver.json.gz",
    unknown: "oov_gb.onnx",
    unknownTable: "oov_gb.json",
  },
} as const;

/** Voices of a folder by their names. */
export type NeuralVoices = Readonly<Record<string, { readonly file: string; readonly isBritish: boolean }>>;

/** What a folder lacks of a neural voice of an accent besides its network. */
export function missingVoiceFiles(names: readonly string[]): readonly string[] {
  const { alphabet, voices, tagger, american, british } = VOICE_FILES;
  const lacking = (needed: readonly string[]): readonly string[] =>
    needed.filter((name) => !names.includes(name));
  const common = lacking([alphabet, voices, tagger]);
  const accent = [american, british].map((files) => lacking(Object.values(files)));
  return [...common, ...(accent.find((files) => files.length === 0) ?? accent[0] ?? [])];
}

const VoicesTable = Type.Record(
  Type.String(),
  Type.Object({ file: Type.String({ pattern: "^[\\w.-]+\\.onnx$" }), british: Type.Boolean() }),
);

/** The voices of a folder, by the text of its voices.json, of which its names have the network; undefined for a damaged table. */
export function neuralVoices(text: string, names: readonly string[]): NeuralVoices | undefined {
  let table: unknown;
  try {
    table = JSON.parse(text);
  } catch {
    return undefined;
  }
  if (!Value.Check(VoicesTable, table)) return undefined;
  const voices = Object.entries(table).filter(([, { file }]) => names.includes(file));
  return Object.fromEntries(voices.map(([name, { file, british }]) => [name, { file, isBritish: british }]));
}
