// Parses an upload form: one file and its purpose.

import { ServiceError } from "../core/error.ts";
import type { NewFile } from "../core/files.ts";
import { FILE_NAME_CHARS_MAX, FILE_PURPOSE_CHARS_MAX } from "../core/limits.ts";
import { type Form, type FormFile, readForm } from "./multipart.ts";

/** A file and its bytes. Throws `invalid_file_upload`, or what readForm throws. */
export async function uploadedFile(
  request: Request,
): Promise<{ readonly file: NewFile; readonly pieces: FormFile["pieces"] }> {
  const form = await readForm(request, { code: "invalid_file_upload" });
  const purpose = purposeOf(form);
  const { filename, mimeType, pieces } = fileOf(form);
  const source = { tool: "user_upload", round: 0, turn: 0 };
  return { file: { name: nameOf(filename), mimeType: mimeTypeOf(mimeType), purpose, source }, pieces };
}

/** Clients of the messages dialect send none. */
function purposeOf({ fields }: Form): string {
  const purpose = fields.get("purpose")?.trim() ?? "user_data";
  if (purpose !== "" && purpose.length <= FILE_PURPOSE_CHARS_MAX) return purpose;
  throw invalid(
    "purpose",
    `must be a text of up to ${FILE_PURPOSE_CHARS_MAX} characters; omit it for user_data`,
  );
}

function fileOf({ files, fields }: Form): FormFile {
  const [file, ...others] = files.filter(({ field }) => field === "file");
  if (file === undefined) {
    throw invalid("file", fields.has("file") ? "needs a file name; send it as a file" : "is required");
  }
  if (others.length > 0) throw invalid("file", "may be given once; upload files one by one");
  return file;
}

/** The parser has left out folders. */
function nameOf(filename: string | undefined): string {
  const name = (filename ?? "").replaceAll(/\p{Cc}/gu, "").trim();
  if (name !== "" && name.length <= FILE_NAME_CHARS_MAX) return name;
  throw invalid("file", `needs a file name of up to ${FILE_NAME_CHARS_MAX} characters`);
}

/** Goes into a header when the file is fetched, so it must be one of the ordinary form. */
function mimeTypeOf(declared: string): string {
  return /^[\w!#$&^.+-]{1,127}\/[\w!#$&^.+-]{1,127}$/.test(declared) ? declared : "application/octet-stream";
}

function invalid(param: string, problem: string): ServiceError {
  return new ServiceError("invalid_file_upload", `${param} ${problem}`, { param });
}
