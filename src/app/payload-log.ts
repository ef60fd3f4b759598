// The log of payloads: a file of JSON lines that its owner alone reads, within a size. Writes are in order and beside the requests.

import { type FileHandle, open, rename } from "node:fs/promises";
import { constants, fchmodSync, fstatSync } from "node:fs";
import type { Settings } from "../config/settings.ts";
import { reasonOf } from "../core/reason.ts";
import { StartError } from "../core/start-error.ts";
import type { TakePayload } from "../http/payloads.ts";
import { PAYLOADS_WAITING_BYTES } from "./limits.ts";

/** Another user's link is not followed, and a pipe does not hold the start up. */
const FLAGS =
  constants.O_WRONLY | constants.O_APPEND | constants.O_CREAT | constants.O_NOFOLLOW | constants.O_NONBLOCK;

export interface PayloadLog {
  readonly take: TakePayload;
  /** Resolves when everything is written. */
  close(): Promise<void>;
}

/** Opens the log that settings name; undefined where they name none. Throws StartError. */
export async function openPayloadLog(
  { log: { payloads: path, payloads_max_mb: maxMb } }: Pick<Settings, "log">,
  log: (line: string) => void,
): Promise<PayloadLog | undefined> {
  if (path === undefined) return undefined;
  const bytesMax = maxMb * 1024 * 1024;
  const file = new BoundedFile(path, bytesMax);
  try {
    await file.open();
  } catch (error) {
    throw new StartError(`log.payloads: ${path} cannot be written: ${reasonOf(error)}. Name another file.`);
  }
  log(
    `warning: prompts and answers of all clients are written to ${path}, keys left out (log.payloads); at ${maxMb} MB it becomes ${path}.1`,
  );
  let waiting = 0; // bytes
  let lost = 0;
  let isBroken = false;
  let tail = Promise.resolve();
  const write = async (line: Buffer): Promise<void> => {
    try {
      await file.write(line);
      isBroken = false;
    } catch (error) {
      if (!isBroken) log(`warning: log.payloads: a record was lost: ${reasonOf(error)}`);
      isBroken = true;
    } finally {
      waiting -= line.byteLength;
    }
    if (waiting === 0 && lost > 0) {
      log(`warning: log.payloads: ${lost} records were left out, the disk was too slow`);
      lost = 0;
    }
  };
  return {
    take: (payload) => {
      const line = Buffer.from(`${JSON.stringify(payload)}\n`);
      if (waiting > 0 && waiting + line.byteLength > PAYLOADS_WAITING_BYTES) {
        lost++;
        return;
      }
      waiting += line.byteLength;
      tail = tail.then(() => write(line));
    },
    close: async () => {
      await tail;
      await file.close();
    },
  };
}

/** A file that is renamed to FILE.1 when it would outgrow its size. */
class BoundedFile {
  private readonly path: string;
  private readonly bytesMax: number;
  private handle: FileHandle | undefined;
  private size = 0;

  constructor(path: string, bytesMax: number) {
    this.path = path;
    this.bytesMax = bytesMax;
  }

  async open(): Promise<void> {
    const handle = await open(this.path, FLAGS, 0o600);
    this.handle = handle;
    const stat = fstatSync(handle.fd);
    if (!stat.isFile()) throw new Error("it is no file");
    fchmodSync(handle.fd, 0o600); // one that was there
    this.size = stat.size;
  }

  async write(line: Buffer): Promise<void> {
    if (this.size > 0 && this.size + line.byteLength > this.bytesMax) {
      await this.close();
      await rename(this.path, `${this.path}.1`);
    }
    if (this.handle === undefined) await this.open();
    await this.handle?.appendFile(line);
    this.size += line.byteLength;
  }

  async close(): Promise<void> {
    const { handle } = this;
    this.handle = undefined;
    await handle?.close();
  }
}
