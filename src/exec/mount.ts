// Writes input files and skills to a working directory. Running processes may have created links there: none is followed.

import { constants } from "node:fs";
import {
  chmod,
  copyFile,
  lchown,
  lstat,
  mkdir,
  mkdtemp,
  open,
  readdir,
  rename,
  unlink,
} from "node:fs/promises";
import { dirname, join } from "node:path";
import { removeTree } from "../sandbox/removal.ts";
import type { Workdir } from "../sandbox/types.ts";
import { mountedNames, skillFolder } from "./names.ts";
import type { InputFile, MountedSkill, Renewal } from "./types.ts";

/** Mounted files of a working directory. */
export class Mounts {
  private readonly workdir: Workdir;
  private inputs = "";
  private skills = "[]";
  private isNew = true;

  /** No call has run in the folder yet. */
  constructor(workdir: Workdir) {
    this.workdir = workdir;
  }

  /** Puts files of earlier calls into a new folder. Returns undefined if it is not new. */
  async restore(earlier: () => readonly InputFile[]): Promise<Renewal | undefined> {
    if (!this.isNew) return undefined;
    this.isNew = false;
    const restored: string[] = [];
    for (const { name, body } of earlier()) {
      if (await this.place(name, body)) restored.push(name);
    }
    return { restored };
  }

  /**
   * Writes a file to a new folder, with the folders above it. Returns false where its content has expired, or something else has its
   * name.
   */
  async place(name: string, body: Blob): Promise<boolean> {
    const steps = name.split("/");
    if (steps.some((step) => step === "" || step === "." || step === "..")) return false;
    try {
      const content = await body.bytes();
      let folder = this.workdir.path;
      for (const step of steps.slice(0, -1)) {
        folder = join(folder, step);
        await mkdir(folder, { mode: 0o755 }).catch(ignoreExisting);
        if (!(await lstat(folder)).isDirectory()) return false;
        if (this.workdir.uid !== undefined) await lchown(folder, this.workdir.uid, this.workdir.uid);
      }
      await this.create(join(this.workdir.path, name), content);
      return true;
    } catch {
      return false; // the result names the files that are there
    }
  }

  /** Writes input files that differ from the last call's. Throws when a folder has the name. */
  async mountInputs(inputs: readonly InputFile[]): Promise<void> {
    const key = JSON.stringify(inputs.map(({ id, name, body }) => [id, name, body.size]));
    if (key === this.inputs) return;
    const names = mountedNames(inputs.map(({ name }) => name));
    for (const [index, { body }] of inputs.entries()) {
      await this.write(names[index] ?? "file", await body.bytes());
    }
    this.inputs = key;
  }

  /**
   * Writes skills/ again where the skills differ from the last call's. They are copied beside the working directory, where a
   * background process cannot put a link in the way.
   */
  async mountSkills(skills: readonly MountedSkill[]): Promise<void> {
    const key = JSON.stringify(skills.map(({ name, dir }) => [name, dir]));
    if (key === this.skills) return;
    const parent = dirname(this.workdir.path);
    const target = join(this.workdir.path, "skills");
    const aside = await mkdtemp(join(parent, ".svc-skills-"));
    try {
      const root = join(aside, "skills");
      await mkdir(root, { mode: 0o755 });
      for (const { name, dir } of skills) await copyFolder(dir, join(root, skillFolder(name)));
      removeTree(target, parent);
      if (skills.length > 0) await rename(root, target);
    } catch (cause) {
      throw new Error("skills/ cannot be written; a process of the session may have replaced it", { cause });
    } finally {
      removeTree(aside);
    }
    this.skills = key;
  }

  private async write(name: string, content: Uint8Array): Promise<void> {
    const path = join(this.workdir.path, name);
    await unlink(path).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw new Error(`${name}: a folder of that name exists`, { cause: error });
    });
    await this.create(path, content);
  }

  private async create(path: string, content: Uint8Array): Promise<void> {
    const flags = constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW;
    const file = await open(path, flags, 0o644);
    try {
      await file.writeFile(content);
      if (this.workdir.uid !== undefined) await file.chown(this.workdir.uid, this.workdir.uid);
    } finally {
      await file.close();
    }
  }
}

function ignoreExisting(error: NodeJS.ErrnoException): void {
  if (error.code !== "EEXIST") throw error;
}

/** Copies files and folders without links, readable by all users. */
async function copyFolder(from: string, to: string): Promise<void> {
  await mkdir(to, { mode: 0o755 });
  for (const entry of await readdir(from, { withFileTypes: true })) {
    const source = join(from, entry.name);
    const target = join(to, entry.name);
    if (entry.isDirectory()) await copyFolder(source, target);
    else if (entry.isFile()) {
      await copyFile(source, target, constants.COPYFILE_EXCL);
      const isProgram = ((await lstat(source)).mode & 0o111) !== 0;
      await chmod(target, isProgram ? 0o755 : 0o644);
    }
  }
}
