// The file of named keys, which `svc keys` changes and a running server reads again. It holds digests, never a key.
// Not in the State: that is in memory by default, and the command is another process than the server.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { randomBytes } from "node:crypto";
import { chownSync, mkdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { dirname } from "node:path";
import { accountFields } from "../core/account.ts";
import { newId } from "../core/id.ts";
import { jsonIn } from "../core/json.ts";
import { writePrivateFile } from "../core/whole-file.ts";
import { codeOf, isFull, isMissing, reasonOf } from "../core/reason.ts";
import { KEY_LOCK_MS, KEY_LOCK_TRY_MS, KEYS_MAX } from "./limits.ts";

const KeyRecord = Type.Object(
  {
    /** Owner of the key's records, also after it was rotated. */
    id: Type.String({ minLength: 1 }),
    name: Type.String({ minLength: 1, maxLength: 100 }),
    /** SHA-256, hexadecimal. */
    digest: Type.String({ pattern: "^[0-9a-f]{64}$" }),
    /** When the key was made, ISO 8601. */
    created: Type.String(),
    ...accountFields,
  },
  { additionalProperties: false },
);
export type KeyRecord = Readonly<Static<typeof KeyRecord>>;

const KeyFile = Type.Object(
  { version: Type.Literal(1), keys: Type.Array(KeyRecord, { maxItems: KEYS_MAX }) },
  { additionalProperties: false },
);

/** A new key: 256 random bits, recognizable by secret scanners. */
export function newKey(): string {
  return `svc-${randomBytes(32).toString("base64url")}`;
}

export function newKeyId(): string {
  return newId("key_");
}

/** The keys of a file; undefined where it is missing. Throws a sentence for a file that is none of svc's. */
export function readKeyFile(file: string): readonly KeyRecord[] | undefined {
  let text: string;
  try {
    if (!statSync(file).isFile()) throw new Error("it is no file"); // a pipe would be waited for
    text = readFileSync(file, "utf8");
  } catch (error) {
    if (isMissing(error)) return undefined;
    throw unusable(file, "read", error);
  }
  const read = jsonIn(text);
  if (Value.Check(KeyFile, read)) return read.keys;
  const [first] = Value.Errors(KeyFile, read);
  const what = first === undefined ? "" : ` (${first.path || "the whole"}: ${first.message.toLowerCase()})`;
  throw new Error(`the file of keys ${file} is not one that svc keys has written${what}; mend or delete it`);
}

function unusable(file: string, how: "read" | "written", cause: unknown): Error {
  const cure = isFull(cause) ? "free space on its disk" : "give this user the right to";
  const fix = `${cure}, or name another with keys_file, XDG_CONFIG_HOME or HOME`;
  return new Error(`the file of keys ${file} cannot be ${how} (${reasonOf(cause)}); ${fix}`, { cause });
}

/** Changes the keys of a file, one command at a time. Throws a sentence for people. */
export async function changeKeyFile<T>(
  file: string,
  change: (keys: readonly KeyRecord[]) => readonly [keys: readonly KeyRecord[], result: T],
): Promise<T> {
  const folder = dirname(file);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    throw unusable(file, "written", error);
  }
  const lock = `${file}.lock`;
  await takeLock(lock);
  try {
    const [keys, result] = change(readKeyFile(file) ?? []);
    if (keys.length > KEYS_MAX) throw new Error(`a file has at most ${KEYS_MAX} keys; revoke some`);
    write(file, `${JSON.stringify({ version: 1, keys }, undefined, 1)}\n`);
    return result;
  } finally {
    rmSync(lock, { recursive: true, force: true });
  }
}

function write(file: string, text: string): void {
  try {
    writePrivateFile(file, text);
    ownedAs(dirname(file), file);
  } catch (error) {
    throw unusable(file, "written", error);
  }
}

/** What root writes into the folder of a service is for the service. */
function ownedAs(folder: string, file: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(folder);
  if (uid !== 0) chownSync(file, uid, gid);
}

async function takeLock(lock: string): Promise<void> {
  for (const deadline = performance.now() + KEY_LOCK_MS; ;) {
    try {
      return mkdirSync(lock);
    } catch (error) {
      if (codeOf(error) !== "EEXIST") throw unusable(lock.replace(/\.lock$/, ""), "written", error);
    }
    if (performance.now() > deadline)
      throw new Error(`another command changes ${lock.replace(/\.lock$/, "")}; if none runs, delete ${lock}`);
    await Bun.sleep(KEY_LOCK_TRY_MS);
  }
}
