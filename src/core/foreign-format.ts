// Names what a file is that should be a GGUF file, by its first bytes.

/** First characters, one for each byte, and what they begin. */
const BEGINNINGS: readonly (readonly [RegExp | string, string])[] = [
  ["version https://git-lfs.github.com/", "a pointer of git LFS, not the file itself: run git lfs pull"],
  [/^\s*(<!doctype html|<html|<head|<\?xml)/i, "a web page: the download needs a sign-in, or failed"],
  [/^\s*[{[]/, "JSON: an error message in place of a download, or a configuration"],
  [/^.{8}\{/s, "a safetensors file: svc convert makes a GGUF file of a model's folder"],
  [/^(ggjt|tjgg|ggmf|fmgg|ggla|lmgg)/, "an old GGML file, from before GGUF: download the model as GGUF"],
  ["PK\u0003\u0004", "a zip archive or PyTorch checkpoint"],
  ["\u0080\u0002", "a PyTorch checkpoint"],
  ["\u001F\u008B", "compressed by gzip: unpack it"],
  ["\u0028\u00B5\u002F\u00FD", "compressed by zstd: unpack it"],
  ["\0\0\0\0", "zeros where its header should be: its download is not complete"],
];

/** What begins with these bytes: `not a GGUF file, but a web page: …`. */
export function foreignFormat(start: Uint8Array): string {
  if (start.byteLength === 0) return "not a GGUF file, but empty";
  const characters = Buffer.from(start.subarray(0, 64)).toString("latin1");
  const matches = (what: RegExp | string): boolean =>
    typeof what === "string" ? characters.startsWith(what) : what.test(characters);
  const [, name] = BEGINNINGS.find(([what]) => matches(what)) ?? [];
  return name === undefined ? "not a GGUF file" : `not a GGUF file, but ${name}`;
}
