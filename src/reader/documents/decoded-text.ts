// Text of bytes of unknown encoding. Pure; part of the page and of the worker that reads documents.

/** Text of a file: UTF-8, UTF-16 with its mark, or an older encoding; undefined for what is no text. */
export function textIn(bytes: Uint8Array): string | undefined {
  const mark = markOf(bytes);
  const text = decoded(bytes, mark ?? "utf-8");
  if (text !== undefined) return text.includes("\0") ? undefined : text;
  const isBinary = mark !== undefined || CONTROLS.test(latin1(bytes.subarray(0, SAMPLE_BYTES)));
  return isBinary ? undefined : new TextDecoder(likeliest(bytes)).decode(bytes);
}

/** Text of bytes: UTF-8, UTF-16 with its mark, the encoding that HTML names, else the most likely one. */
export function decodedText(bytes: Uint8Array): string {
  const head = latin1(bytes.subarray(0, HEAD_BYTES));
  const named = /<meta[^>]+charset=["']?\s*(?<label>[\w-]+)/i.exec(head)?.groups?.["label"];
  for (const label of [markOf(bytes), "utf-8", named]) {
    const text = label === undefined ? undefined : decoded(bytes, label);
    if (text !== undefined) return text;
  }
  return new TextDecoder(likeliest(bytes)).decode(bytes);
}

/** Part of a page in which its encoding must be named, and of a file that is looked at, bytes. */
const HEAD_BYTES = 1024;
const SAMPLE_BYTES = 65_536;

/** What no text has, whatever its encoding. */
const CONTROLS = /[\0-\x06\x0e-\x19\x1c-\x1f]/; // oxlint-disable-line no-control-regex -- it looks for them

/** The most frequent characters of a language; of Japanese, those of tables, too, which have few kana. */
const JAPANESE = /[\u3041-\u30fe、。日年月大人国会中本名番号金額売上時分社市区県店東京]/g;
const KOREAN = /[이다는에의가을를고하지한로서니은도기사시어나대인아라자리수]/g;
const CHINESE =
  /[的一是不了在人有我他她这這个個们們中来來上大为為和国國时時会會要说說就对對以到你年月日名，。、]/g;
/** Words: single letters of it are those of Western Europe. */
const CYRILLIC = /[А-ЯЁа-яё][а-яё]{3,}/g;

/** Older encodings, and the share of a text's letters beyond ASCII that what it expects must have, at least. */
const OLDER = [
  ["shift_jis", JAPANESE, 0.15],
  ["euc-jp", JAPANESE, 0.15],
  ["euc-kr", KOREAN, 0.15],
  ["gb18030", CHINESE, 0.08],
  ["big5", CHINESE, 0.08],
  ["windows-1251", CYRILLIC, 0.5],
  ["koi8-r", CYRILLIC, 0.5],
] as const;

/** The older encoding in which the bytes make the most sense; that of Western Windows where none does. */
function likeliest(bytes: Uint8Array): string {
  const sample = bytes.subarray(0, SAMPLE_BYTES);
  const whole = sample.length === bytes.length;
  const fitting = OLDER.flatMap(([label, expected, least]) => {
    const text = decoded(sample, label, !whole) ?? ""; // the sample may end within a character
    const letters = text.replaceAll(/[\0-\x7f]/g, "").length; // oxlint-disable-line no-control-regex -- ASCII
    const worth = (text.match(expected)?.join("").length ?? 0) / Math.max(1, letters) / least;
    return worth >= 1 ? [{ label, worth }] : [];
  });
  return fitting.toSorted((a, b) => b.worth - a.worth)[0]?.label ?? "windows-1252";
}

/** Undefined where the bytes are not of that encoding, or it is unknown. */
function decoded(bytes: Uint8Array, label: string, stream = false): string | undefined {
  try {
    return new TextDecoder(label, { fatal: true }).decode(bytes, { stream });
  } catch {
    return undefined;
  }
}

function latin1(bytes: Uint8Array): string {
  return new TextDecoder("latin1").decode(bytes);
}

function markOf([first, second]: Uint8Array): string | undefined {
  if (first === 0xff && second === 0xfe) return "utf-16le";
  return first === 0xfe && second === 0xff ? "utf-16be" : undefined;
}
