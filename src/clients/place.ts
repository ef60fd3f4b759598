// A client's configuration file on this machine, and svc's own note of what it replaced there.

import {
  chmodSync,
  existsSync,
  readFileSync,
  realpathSync,
  renameSync,
  rmSync,
  statSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { textDigest } from "../core/digest.ts";
import { writePrivateFile } from "../core/private-file.ts";
import type { ClientFile } from "./client.ts";
import { merged, type Replaced, unmerged } from "./merge.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Folders of this machine's user. */
export interface Places {
  readonly home: string;
  /** File with svc's own notes, by the path of a client's file. */
  readonly note: string;
  readonly environment: Environment;
}

/** What was there before svc wrote. */
interface Note {
  readonly replaced: readonly Replaced[];
  /** Digest of the text that svc wrote. While the file has it, the text before comes back as it was. */
  readonly wrote: string;
  readonly before?: string;
}

/** Where a file is, or would be. */
function pathOf({ folder, names }: ClientFile, { home, environment }: Places): string {
  const named = folder.variable === undefined ? undefined : environment[folder.variable];
  const config = environment["XDG_CONFIG_HOME"] || join(home, ".config");
  const place = named || join(folder.base === "home" ? home : config, folder.path);
  const candidates = names.map((name) => join(place, name));
  return candidates.find((path) => existsSync(path)) ?? join(place, names[0]);
}

/** Writes svc's part into a client's file. Returns its path, and whether it was another text before. */
export function connect(
  file: ClientFile,
  places: Places,
): { readonly path: string; readonly isNew: boolean } {
  const path = pathOf(file, places);
  const notes = readNotes(places);
  const now = textOf(path);
  const note = notes[path];
  const { text, replaced } = aboutFile(path, () => merged(file, now ?? "", note?.replaced ?? []));
  if (text === now) return { path, isNew: false };
  const isOurs = note !== undefined && now !== undefined && note.wrote === textDigest(now);
  const before = isOurs ? note.before : note === undefined ? now : undefined;
  const kept: Note = { replaced, wrote: textDigest(text), ...(before === undefined ? {} : { before }) };
  writeNotes(places, { ...notes, [path]: kept });
  write(path, text);
  return { path, isNew: true };
}

/** Takes svc's part out of a client's file; a file with nothing else goes. Undefined where there was no such part. */
export function disconnect(file: ClientFile, places: Places): string | undefined {
  const path = pathOf(file, places);
  const { [path]: note, ...others } = readNotes(places);
  const now = textOf(path);
  if (now === undefined) return undefined;
  const isAsWritten = note?.before !== undefined && note.wrote === textDigest(now);
  const text = isAsWritten ? note.before : aboutFile(path, () => unmerged(file, now, note?.replaced ?? []));
  if (text === undefined) rmSync(path);
  else if (text === now) return undefined;
  else write(path, text);
  if (note !== undefined) writeNotes(places, others);
  return path;
}

/** What is thrown, with the file that it is about: nothing was written. */
function aboutFile<T>(path: string, work: () => T): T {
  try {
    return work();
  } catch (cause) {
    const reason = cause instanceof Error ? cause.message : String(cause);
    throw new Error(`${path} was not changed: ${reason}. --print shows what belongs there.`, { cause });
  }
}

type Notes = Readonly<Record<string, Note>>;

function readNotes({ note }: Places): Notes {
  const text = textOf(note);
  try {
    return text === undefined ? {} : (JSON.parse(text) as Notes);
  } catch {
    return {}; // damaged: what was replaced is not known
  }
}

/** The notes may hold keys of the user. */
function writeNotes({ note }: Places, notes: Notes): void {
  if (Object.keys(notes).length === 0) rmSync(note, { force: true });
  else writePrivateFile(note, `${JSON.stringify(notes, null, 1)}\n`);
}

function textOf(path: string): string | undefined {
  try {
    return readFileSync(path, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/** Replaces a file as a whole; a link keeps its target, a file its mode. New ones are the user's alone: they hold a key. */
function write(path: string, text: string): void {
  if (!existsSync(path)) return writePrivateFile(path, text);
  const target = realpathSync(path);
  const aside = `${target}.${process.pid}`;
  try {
    writeFileSync(aside, text, { mode: 0o600, flag: "wx" });
    chmodSync(aside, statSync(target).mode & 0o777);
    renameSync(aside, target);
  } catch (error) {
    rmSync(aside, { force: true });
    throw error;
  }
}
