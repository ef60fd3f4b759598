// A neural voice in a folder: networks, dictionaries and tables, as the package hibari-tts lays them out (core/voice-files.ts).

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { gunzipSync } from "node:zlib";
import { type Static, type TSchema, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { VOICE_FILE_BYTES_MAX } from "../shared/limits.ts";
import { VOICE_FILES } from "../../core/voice-files.ts";
import { type Entry, lexiconOf } from "./lexicon.ts";
import type { Network, OpenNetwork } from "./network.ts";
import type { Pronunciation } from "./phonemes.ts";
import { taggerOf } from "./tagger.ts";

const Dictionary = Type.Record(
  Type.String(),
  Type.Union([Type.String(), Type.Record(Type.String(), Type.Union([Type.String(), Type.Null()]))]),
);
const Alphabet = Type.Record(Type.String(), Type.Integer({ minimum: 1, maximum: 100_000 }));
const Spelling = Type.Object({
  in: Type.Array(Type.String()),
  out: Type.Array(Type.String()),
  maxlen: Type.Integer({ minimum: 1, maximum: 1000 }),
});
const Tags = Type.Object({
  tags: Type.Array(Type.String(), { minItems: 1 }),
  tagdict: Type.Record(Type.String(), Type.String()),
  vocab: Type.Optional(Type.Array(Type.String())),
  weights: Type.Record(Type.String(), Type.Record(Type.String(), Type.Number())),
});

/** Numbers of the sounds that the voice's network knows. */
export type Alphabet = Static<typeof Alphabet>;

/** Reads a file of a voice, decompressed where its name ends in .gz. Throws an error that names the file. */
export function readVoiceFile(folder: string, name: string): Buffer {
  const content = readFileSync(join(folder, name));
  return name.endsWith(".gz") ? gunzipSync(content, { maxOutputLength: VOICE_FILE_BYTES_MAX }) : content;
}

function readJson<T extends TSchema>(folder: string, name: string, schema: T): Static<T> {
  const json: unknown = JSON.parse(readVoiceFile(folder, name).toString("utf8"));
  if (Value.Check(schema, json)) return json;
  throw new Error(`${name} is not the table that a voice has there`);
}

/** Sounds and their numbers. */
export function alphabetOf(folder: string): Alphabet {
  return readJson(folder, VOICE_FILES.alphabet, Alphabet);
}

/** What reads sentences for the voices of an accent. */
export async function pronunciationOf(
  folder: string,
  isBritish: boolean,
  open: OpenNetwork,
): Promise<Pronunciation> {
  const { gold, silver, unknown, unknownTable } = VOICE_FILES[isBritish ? "british" : "american"];
  const read = (name: string): Record<string, Entry> => readJson(folder, name, Dictionary);
  const spelling = readJson(folder, unknownTable, Spelling);
  return {
    lexicon: lexiconOf({ gold: read(gold), silver: read(silver), isBritish }),
    tagger: taggerOf(readJson(folder, VOICE_FILES.tagger, Tags)),
    unknown: speller(await open(readVoiceFile(folder, unknown)), spelling),
  };
}

/** Sounds of words by a network: a number of a sound for each of its slots, 0 for none, repeated where it lasts. */
function speller(network: Network, { in: letters, out, maxlen }: Static<typeof Spelling>) {
  const numbers = new Map(letters.map((letter, at) => [letter, BigInt(at + 1)]));
  return async (word: string): Promise<string> => {
    const ids = word
      .split("")
      .flatMap((letter) => numbers.get(letter) ?? [])
      .slice(0, maxlen);
    if (ids.length === 0) return "";
    const { ids: sounds } = await network({
      chars: { data: BigInt64Array.from(ids), dims: [1, ids.length] },
    });
    if (!(sounds?.data instanceof BigInt64Array))
      throw new Error("the network for unknown words has no output ids");
    const { data } = sounds;
    return Array.from(data, (id, at) => (id === data[at - 1] ? "" : (out[Number(id) - 1] ?? ""))).join("");
  };
}
