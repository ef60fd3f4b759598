// Reads a multipart form as it arrives: each file's bytes are kept once, in the pieces they came in. Every way in which
// a form can be broken is our error object, under the code that its route names.

import { Busboy, type BusboyFileStream, type BusboyHeaders, type BusboyInstance } from "@fastify/busboy";
import { defined } from "../core/defined.ts";
import { type ErrorCode, ServiceError } from "../core/error.ts";
import { FORM_FIELD_CHARS_MAX } from "../core/limits.ts";
import {
  FORM_PART_HEADER_BYTES_MAX,
  FORM_PART_HEADERS_MAX,
  FORM_PARTS_MAX,
  REQUEST_BODY_BYTES_MAX,
} from "./limits.ts";
import { boundedPieces } from "./body-pace.ts";
import { observed } from "./observe.ts";

/** A part with a file name, or with a type that only files have. */
export interface FormFile {
  /** Name of its field. */
  readonly field: string;
  readonly filename?: string;
  /** As it was declared, lower case, without parameters. */
  readonly mimeType: string;
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

export interface Form {
  /** Text fields; of two of one name the last counts. */
  readonly fields: ReadonlyMap<string, string>;
  /** In the order of the form. */
  readonly files: readonly FormFile[];
}

export interface FormOptions {
  /** Code of a form that is broken. */
  readonly code: ErrorCode;
  /** Keep the folders in the files' names. */
  readonly withPaths?: boolean;
}

const MULTIPART_TYPE = /^multipart\/form-data\s*(?:;|$)/i;

/**
 * The request's form. Throws `unsupported_media_type`, `payload_too_large`, `request_timeout`, or the given code with
 * what is wrong with the form.
 */
export async function readForm(request: Request, options: FormOptions): Promise<Form> {
  const type = request.headers.get("content-type") ?? "";
  if (!MULTIPART_TYPE.test(type)) {
    throw new ServiceError("unsupported_media_type", "send a form: content-type: multipart/form-data");
  }
  const declared = Number(request.headers.get("content-length") ?? 0);
  // Throws what says so, before the form's own faults are looked at.
  if (declared > REQUEST_BODY_BYTES_MAX)
    await Array.fromAsync(boundedPieces(request, REQUEST_BODY_BYTES_MAX));
  if (request.body === null) throw new ServiceError(options.code, "the form is empty");
  const reader = new FormReader({ "content-type": type }, options);
  try {
    await reader.read(boundedPieces(request, REQUEST_BODY_BYTES_MAX));
  } catch (cause) {
    if (cause instanceof ServiceError) throw cause;
    throw new ServiceError(options.code, "the form is cut off, or its parts do not match its boundary", {
      cause,
    });
  }
  return reader;
}

/** One form that is being read. */
class FormReader implements Form {
  readonly fields = new Map<string, string>();
  readonly files: FormFile[] = [];
  private readonly parser: BusboyInstance;
  private readonly code: ErrorCode;
  private readonly done = Promise.withResolvers<void>();
  private problem: ServiceError | undefined;

  constructor(headers: BusboyHeaders, { code, withPaths = false }: FormOptions) {
    this.code = code;
    this.parser = this.parserOf(headers, withPaths);
    this.parser.on("field", (name, value, isNameCut, isValueCut) => {
      if (isNameCut || isValueCut) this.refuse(`has a field longer than ${FORM_FIELD_CHARS_MAX} characters`);
      this.fields.set(name, value);
    });
    this.parser.on("file", (field, stream, filename: string | undefined, _encoding, mimeType) => {
      this.addFile(field, stream, filename, mimeType);
    });
    this.parser.on("partsLimit", () => this.refuse(`has more than ${FORM_PARTS_MAX} parts`));
    this.parser.on("error", (error) => this.done.reject(error));
    this.parser.on("finish", () => this.done.resolve());
  }

  async read(pieces: AsyncIterable<Uint8Array>): Promise<void> {
    this.done.promise.catch(() => undefined); // looked at below, perhaps only after the body broke off
    let bytes = 0;
    for await (const chunk of pieces) {
      bytes += chunk.byteLength;
      await this.write(chunk);
      if (this.problem !== undefined) throw this.problem; // leaving the loop cancels the body
    }
    observed()?.bodyRead(bytes);
    this.parser.end();
    await this.done.promise;
    if (this.problem !== undefined) throw this.problem;
  }

  /** Resolves when the parser has taken the chunk, or rejects with what is wrong with it. */
  private async write(chunk: Uint8Array): Promise<void> {
    const taken = new Promise<void>((resolve) => void this.parser.write(chunk, () => resolve()));
    await Promise.race([taken, this.done.promise]);
  }

  private parserOf(headers: BusboyHeaders, withPaths: boolean): BusboyInstance {
    try {
      const limits = {
        parts: FORM_PARTS_MAX,
        headerPairs: FORM_PART_HEADERS_MAX,
        headerSize: FORM_PART_HEADER_BYTES_MAX,
        fieldSize: FORM_FIELD_CHARS_MAX,
        fieldNameSize: FORM_FIELD_CHARS_MAX,
      };
      return new Busboy({ headers, limits, preservePath: withPaths });
    } catch (cause) {
      throw new ServiceError(this.code, "the content-type of a form must have a boundary", { cause });
    }
  }

  private addFile(
    field: string,
    stream: BusboyFileStream,
    filename: string | undefined,
    mimeType: string,
  ): void {
    const pieces: Uint8Array<ArrayBuffer>[] = [];
    this.files.push({
      field,
      ...defined({ filename }),
      mimeType: mimeType.toLowerCase(),
      pieces,
    });
    stream.on("data", (piece: Buffer<ArrayBuffer>) => void pieces.push(piece));
    stream.on("error", (error) => this.done.reject(error));
  }

  private refuse(what: string): void {
    this.problem ??= new ServiceError(this.code, `the form ${what}`);
  }
}
