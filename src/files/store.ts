// File store: uploads, input files of requests, outputs of tools. Owns names, MIME types and previews; a State stores records
// and bodies.

import { extname } from "node:path";
import type { FileObject } from "../core/agent.ts";
import type { ForCaller } from "../core/caller.ts";
import { defined } from "../core/defined.ts";
import type { Files, NewFile, StoredFile } from "../core/files.ts";
import { newId } from "../core/id.ts";
import {
  FILE_BODIES_BYTES_MAX,
  FILE_LIFE_MS,
  FILES_MAX,
  INPUT_PREVIEW_CHARS_MAX,
  OUTPUT_PREVIEW_BYTES_MAX,
} from "./limits.ts";
import { FILE_INLINE_BYTES_MAX } from "../core/limits.ts";
import type { Clock, OwnedState, Records } from "../core/state.ts";
import { type Extent, sniff } from "./text.ts";

/** Fallback MIME type. */
const ANY_MIME_TYPE = "application/octet-stream";

/** Overrides of limits.ts, for tests. */
export interface FileStoreOptions {
  readonly clock?: Clock;
  readonly capacity?: number;
  readonly bodyBytesMax?: number;
}

/** Each caller's files on a State. */
export function fileStore(state: OwnedState, options: FileStoreOptions = {}): ForCaller<Files> {
  const records = state.records<StoredFile>("files", {
    capacity: options.capacity ?? FILES_MAX,
    life: { type: "fixed", ms: FILE_LIFE_MS },
    bodyBytesMax: options.bodyBytesMax ?? FILE_BODIES_BYTES_MAX,
  });
  return (caller) => new FilesOfCaller(state, records(caller), options.clock ?? Date.now);
}

class FilesOfCaller implements Files {
  private readonly state: Pick<OwnedState, "stage">;
  private readonly records: Records<StoredFile>;
  private readonly clock: Clock;

  constructor(state: Pick<OwnedState, "stage">, records: Records<StoredFile>, clock: Clock) {
    this.state = state;
    this.records = records;
    this.clock = clock;
  }

  async add(file: NewFile, pieces: readonly Uint8Array<ArrayBuffer>[]): Promise<StoredFile> {
    const staged = await this.state.stage(pieces);
    const { isText, beginning, isWhole } = sniff(pieces, previewExtent(file.purpose));
    let stored: StoredFile = {
      ...this.describe(file),
      bytes: staged.blob.size,
      isText,
      ...(isText ? { preview: beginning, isPreviewWhole: isWhole } : {}),
    };
    if (isText && stored.mimeType === ANY_MIME_TYPE) stored = { ...stored, mimeType: "text/plain" };
    this.records.put(stored.id, stored, staged);
    return stored;
  }

  addFailure(file: NewFile, failure: { readonly code: string; readonly message: string }): StoredFile {
    const stored: StoredFile = { ...this.describe(file), bytes: 0, isText: false, failure };
    this.records.put(stored.id, stored);
    return stored;
  }

  get(id: string): StoredFile | undefined {
    return this.records.get(id);
  }

  body(id: string): Blob | undefined {
    return this.records.body(id);
  }

  hasBody(id: string): boolean {
    return this.records.hasBody(id);
  }

  join(id: string, sessionId: string): void {
    const file = this.records.get(id);
    if (file === undefined || file.sessions.includes(sessionId)) return;
    this.records.put(id, { ...file, sessions: [...file.sessions, sessionId] });
  }

  delete(id: string): boolean {
    return this.records.delete(id);
  }

  list(sessionId?: string): readonly StoredFile[] {
    const all = this.records.list();
    return sessionId === undefined ? all : all.filter(({ sessions }) => sessions.includes(sessionId));
  }

  async object(file: StoredFile, withBody = true): Promise<FileObject> {
    const { id, name, format, mimeType, bytes, createdAt, purpose, source, preview, failure } = file;
    return {
      id,
      name,
      ...defined({ format }),
      ...(mimeType === ANY_MIME_TYPE ? {} : { mime_type: mimeType }),
      bytes,
      created_at: createdAt,
      purpose,
      source,
      ...defined({ preview }),
      ...(failure ?? (withBody ? await this.inlineBody(file) : {})),
    };
  }

  private async inlineBody({ id, bytes, isText }: StoredFile): Promise<Partial<FileObject>> {
    if (bytes > FILE_INLINE_BYTES_MAX) return {};
    const body = await this.body(id)
      ?.bytes()
      .catch(() => undefined); // it expired meanwhile
    if (body === undefined) return {};
    return isText
      ? { text: new TextDecoder("utf-8", { ignoreBOM: true }).decode(body) }
      : { data_base64: body.toBase64() };
  }

  private describe(file: NewFile): Omit<StoredFile, "bytes" | "isText"> {
    const { id, name, purpose, source, sessionId } = file;
    const format = file.format ?? extname(name).slice(1).toLowerCase();
    return {
      id: id ?? newId("file-"),
      name,
      ...(format === "" ? {} : { format }),
      mimeType:
        file.mimeType === undefined || file.mimeType === ANY_MIME_TYPE ? mimeTypeOf(name) : file.mimeType,
      createdAt: Math.floor(this.clock() / 1000),
      purpose,
      source,
      sessions: sessionId === undefined ? [] : [sessionId],
    };
  }
}

/** MIME type by file extension, from the runtime's table. */
function mimeTypeOf(name: string): string {
  const [essence] = Bun.file(name).type.split(";");
  return essence === undefined || essence === "" ? ANY_MIME_TYPE : essence;
}

function previewExtent(purpose: string): Extent {
  return purpose === "agent_output"
    ? { bytes: OUTPUT_PREVIEW_BYTES_MAX }
    : { characters: INPUT_PREVIEW_CHARS_MAX };
}
