// Real vocabularies in which the markup of chat templates are tokens: half of it control tokens, half user-defined ones.

import { readFileSync } from "node:fs";
import { join } from "node:path";
import { cText, type Handle, nativeText } from "../../ffi/text.ts";
import { type Field, int32Array, readFields, stringsOf } from "../../src/core/gguf.ts";
import { int32sField, stringsField, writeGguf } from "../../src/lora/gguf-write.ts";
import { native } from "./native.ts";
import { type VocabularyKind, vocabularyFile } from "./templates.ts";
import { tempDir } from "./tmp.ts";

/** llama.h: enum llama_token_type */
const TYPE = { normal: 1, control: 3, userDefined: 4 } as const;

/** Strings of a template that look like tokens, however they are written. */
const MARKUP =
  /<\|[^<>|\s'"]{1,40}\|?>|<[^<>|\s'"]{1,40}\|>|<｜[^<>｜\s'"]{1,60}｜>|<SPECIAL_\d+>|\[\/?[A-Z_]{2,}\]|\]<\]minimax\[>\[|\]~!?b[\][]|\[e~\[/gu;
/** Of other words in brackets, those that families have tokens for. */
const NAMED =
  /<\/?(?:[a-z]+:)?[a-z_]*(?:think|tool|arg_|sep|role|sentence|document|image|video|start_of|end_of|assistant|system|user|bos|eos|sop)[a-z_]*>/g;
/** Templates make tokens of roles ('<|' + role + '|>'), and of words with a suffix. */
const HUNYUAN_SUFFIX = ":opensource";
const ROLES = ["system", "user", "assistant", "tool", "developer", "function"];

/** Words of a template's markup that may be tokens of its models. */
export function markupOf(source: string): readonly string[] {
  const found = [MARKUP, NAMED].flatMap((form) =>
    Array.from(source.matchAll(form), ([word]) => word.replace("{}", HUNYUAN_SUFFIX)),
  );
  return [...new Set([...found, ...ROLES.map((role) => `<|${role}|>`)])];
}

/** A model that is a vocabulary alone. */
export interface Vocabulary {
  readonly handle: Handle;
  readonly size: number;
  /** Text of the control and user-defined tokens. */
  readonly special: ReadonlyMap<number, string>;
}

/** The vocabulary with `markup` in place of its last tokens, which are padding or rare. */
export function openVocabulary(kind: VocabularyKind, markup: readonly string[]): Vocabulary {
  const fields = readFields(readFileSync(vocabularyFile(kind)));
  const [tokens, types] = vocabularyOf(fields);
  const words = markup.filter((word) => !tokens.includes(word));
  words.forEach((word, index) => {
    const id = tokens.length - words.length + index;
    tokens[id] = word;
    types[id] = index % 2 === 0 ? TYPE.control : TYPE.userDefined;
  });
  // Padding that is left over.
  tokens.forEach((word, id) => {
    if (types[id] === TYPE.userDefined && word.startsWith("[PAD")) types[id] = TYPE.normal;
  });
  const path = join(tempDir(), `vocabulary-${kind}.gguf`);
  const changed = [
    stringsField("tokenizer.ggml.tokens", tokens),
    int32sField("tokenizer.ggml.token_type", types),
  ];
  const kept = fields.filter(({ key }) => changed.every((other) => other.key !== key));
  writeGguf(path, [...kept, ...changed], []);
  return openFile(path);
}

/** The vocabulary of a model file. */
export function openFile(path: string): Vocabulary {
  const [tokens, types] = vocabularyOf(readFields(readFileSync(path)));
  const marks = types.flatMap((type, id) => (type === TYPE.control || type === TYPE.userDefined ? [id] : []));
  return {
    handle: loadVocabulary(path),
    size: tokens.length,
    special: new Map(marks.map((id) => [id, tokens[id] ?? ""])),
  };
}

/** Texts and types of a file's tokens. */
function vocabularyOf(fields: readonly Field[]): [string[], number[]] {
  const field = (key: string) => fields.find((known) => known.key === `tokenizer.ggml.${key}`);
  const [tokens, types] = [field("tokens"), field("token_type")];
  const texts = [...((tokens && stringsOf(tokens)) ?? [])];
  if (types === undefined || texts.length === 0) throw new Error("the file has no vocabulary");
  return [texts, [...int32Array(types)]];
}

function loadVocabulary(path: string): Handle {
  const vocabularyOnly = Int32Array.of(0, 0, 1, 0, 1);
  const load = native().svc_load_begin(cText(path), vocabularyOnly, vocabularyOnly.length, null);
  const model = load === null ? null : native().svc_load_finish(load);
  if (model === null) throw new Error(nativeText(native().svc_last_error()));
  return model;
}
