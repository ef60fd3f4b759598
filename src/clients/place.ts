// A client's configuration file on this machine, and svc's own note of what it replaced there.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import {
  chmodSync,
  chownSync,
  existsSync,
  lstatSync,
  readFileSync,
  readlinkSync,
  rmSync,
  statSync,
} from "node:fs";
import { dirname, join, resolve } from "node:path";
import { defined } from "../core/defined.ts";
import { textDigest } from "../core/digest.ts";
import { writePrivateFile, writeWhole } from "../core/whole-file.ts";
import { codeOf } from "../core/reason.ts";
import type { ClientFile } from "./client.ts";
import { merged, Replaced, unmerged } from "./merge.ts";

type Environment = Readonly<Record<string, string | undefined>>;

/** Folders of this machine's user. */
export interface Places {
  readonly home: string;
  /** File with svc's own notes, by the path of a client's file. */
  readonly note: string;
  readonly environment: Environment;
}

/** What was there before svc wrote. */
const Note = Type.Object({
  replaced: Type.Array(Replaced),
  /** Digest of the text that svc wrote. While the file has it, the text before comes back as it was. */
  wrote: Type.String(),
  before: Type.Optional(Type.String()),
  /** Svc has made the file: it goes with what svc wrote. */
  isNew: Type.Optional(Type.Boolean()),
  /** Permissions that others had lost, since a key stands in the file. */
  mode: Type.Optional(Type.Integer({ minimum: 0, maximum: 0o777 })),
});
type Note = Readonly<Static<typeof Note>>;
const Notes = Type.Record(Type.String(), Note);
type Notes = Readonly<Static<typeof Notes>>;

/** Permissions of all but the owner. */
const OTHERS = 0o077;
/** Links that lead from one to the next. */
const LINKS_MAX = 40;
/** Some editors begin files with it. */
const BYTE_ORDER_MARK = "\u{feff}";

/** Where a file is, or would be. */
function pathOf({ folder, names }: ClientFile, { home, environment }: Places): string {
  const named = folder.variable === undefined ? undefined : environment[folder.variable];
  const config = environment["XDG_CONFIG_HOME"] || join(home, ".config");
  const place = named || join(folder.base === "home" ? home : config, folder.path);
  const candidates = names.map((name) => join(place, name));
  return candidates.find((path) => existsSync(path)) ?? join(place, names[0]);
}

/** Writes svc's part into a client's file. Returns its path, and whether it was another text before. `key`: of the server. */
export function connect(
  file: ClientFile,
  places: Places,
  key: string,
): { readonly path: string; readonly isNew: boolean } {
  const path = pathOf(file, places);
  const notes = readNotes(places);
  const note = notes[path];
  return aboutFile(path, () => {
    const now = textOf(path);
    const { text, replaced } = changed(now ?? "", (body) => merged(file, body, note?.replaced ?? []));
    const mode = text.includes(key) ? modeOf(path) : undefined;
    const isOpen = mode !== undefined && key !== "none" && (mode & OTHERS) !== 0;
    if (text === now && !isOpen) return { path, isNew: false };
    const isOurs = note !== undefined && now !== undefined && note.wrote === textDigest(now);
    const before = isOurs ? note.before : note === undefined ? now : undefined;
    const kept: Note = {
      ...defined({ before, mode: isOpen ? mode : note?.mode }),
      isNew: now === undefined || note?.isNew === true,
      replaced: [...replaced],
      wrote: textDigest(text),
    };
    writeNotes(places, { ...notes, [path]: kept });
    write(path, text, isOpen ? mode & ~OTHERS : undefined);
    return { path, isNew: text !== now };
  });
}

/** A text with its byte order mark, if it has one. */
function changed<R extends { readonly text: string }>(text: string, change: (body: string) => R): R {
  if (!text.startsWith(BYTE_ORDER_MARK)) return change(text);
  const result = change(text.slice(BYTE_ORDER_MARK.length));
  return { ...result, text: BYTE_ORDER_MARK + result.text };
}

/** Takes svc's part out of a client's file; one that svc had made goes if it has nothing else. Undefined where there was no such part. */
export function disconnect(file: ClientFile, places: Places): string | undefined {
  const path = pathOf(file, places);
  const { [path]: note, ...others } = readNotes(places);
  return aboutFile(path, () => {
    const now = textOf(path);
    if (now === undefined) return undefined;
    const text = textWithout(file, now, note);
    if (text === now) return undefined;
    if (text === undefined) rmSync(targetOf(path));
    else write(path, text, modeBefore(path, note));
    if (note !== undefined) writeNotes(places, others);
    return path;
  });
}

/** The permissions that a file had, while it has those that svc left; else those that it has. */
function modeBefore(path: string, note: Note | undefined): number | undefined {
  const now = modeOf(path);
  return note?.mode !== undefined && now === (note.mode & ~OTHERS) ? note.mode : now;
}

/** What is left without svc's part; undefined where that was all, in a file that svc had made. */
function textWithout(file: ClientFile, now: string, note: Note | undefined): string | undefined {
  if (note?.before !== undefined && note.wrote === textDigest(now)) return note.before;
  const { text, isBare } = changed(now, (body) => unmerged(file, body, note?.replaced ?? []));
  return isBare && text !== now && note?.isNew === true ? undefined : text;
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

function readNotes({ note }: Places): Notes {
  const text = textOf(note);
  try {
    return text === undefined ? {} : Value.Decode(Notes, JSON.parse(text));
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
    return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(readFileSync(path));
  } catch (error) {
    if (error instanceof TypeError) throw new Error("it is no UTF-8 text", { cause: error });
    if (codeOf(error) === "ENOENT") return undefined;
    throw error;
  }
}

/** The file that a path leads to, whether it exists or not: a link stays one. */
function targetOf(path: string): string {
  let at = path;
  for (let links = 0; links < LINKS_MAX; links++) {
    if (lstatSync(at, { throwIfNoEntry: false })?.isSymbolicLink() !== true) return at;
    at = resolve(dirname(at), readlinkSync(at));
  }
  throw new Error("its links lead in a circle");
}

function modeOf(path: string): number | undefined {
  const mode = statSync(path, { throwIfNoEntry: false })?.mode;
  return mode === undefined ? undefined : mode & 0o777;
}

/** Replaces a file as a whole; it keeps its mode where none is given. New ones are the user's alone: they may hold a key. */
function write(path: string, text: string, mode = modeOf(path)): void {
  const target = targetOf(path);
  if (mode === undefined) return writePrivateFile(target, text);
  const settle = (aside: string): void => {
    chmodSync(aside, mode);
    ownAs(aside, target);
  };
  writeWhole(target, text, { mode: 0o600, settle });
}

/** What root writes for another user stays that user's. */
function ownAs(aside: string, target: string): void {
  if (process.getuid?.() !== 0) return;
  const { uid, gid } = statSync(target);
  chownSync(aside, uid, gid);
}
