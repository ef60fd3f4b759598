// Finds the GGUF file that a model_id means. Reads folders and the first bytes of files, never a whole model.

import { closeSync, openSync, readdirSync, readSync, statSync } from "node:fs";
import { join } from "node:path";

/** The file, or what is wrong (a problem's `what`) and its fix. */
export type ModelFile =
  | { readonly ok: true; readonly file: string }
  | { readonly ok: false; readonly what: string; readonly fix: string };

/** `path` is absolute and names a GGUF file or a folder that holds exactly one model. */
export function findModelFile(path: string): ModelFile {
  const stat = statSync(path, { throwIfNoEntry: false });
  if (stat === undefined) {
    return no(
      "there is no such file or folder",
      "Give the path of a GGUF file; models are not downloaded yet.",
    );
  }
  if (!stat.isDirectory()) return checkMagic(path);
  const files = ggufFiles(path);
  const [only] = files;
  if (only === undefined)
    return no("the folder holds no GGUF file", "Give a folder with one, or the file itself.");
  if (files.length > 1)
    return no(`the folder holds ${files.length} models`, `Name one of them: ${files.join(", ")}.`);
  return checkMagic(join(path, only));
}

/** Models of a folder: of a split one only the first part counts, and projectors for images are not models. */
function ggufFiles(folder: string): readonly string[] {
  const files = readdirSync(folder).filter((name) => /\.gguf$/i.test(name) && !/^mmproj/i.test(name));
  return files
    .filter((name) => !/-\d{5}-of-\d{5}\.gguf$/i.test(name) || /-00001-of-\d{5}\.gguf$/i.test(name))
    .sort();
}

/** Catches a wrong file here, where it can be named, instead of in the engine. */
function checkMagic(file: string): ModelFile {
  const magic = Buffer.alloc(4);
  try {
    const descriptor = openSync(file, "r");
    try {
      readSync(descriptor, magic, 0, 4, 0);
    } finally {
      closeSync(descriptor);
    }
  } catch {
    return no("the file cannot be read", "Check its permissions.");
  }
  // gguf.h: GGUF_MAGIC
  if (magic.toString("latin1") === "GGUF") return { ok: true, file };
  return no("this is not a GGUF file", "Only GGUF models can be served.");
}

function no(what: string, fix: string): ModelFile {
  return { ok: false, what, fix };
}
