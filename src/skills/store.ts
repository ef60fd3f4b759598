// Skill store on disk: <folder>/<skill id>/versions/<n>/version.json with content/ beside it. A version is written to a
// staging folder and renamed, so it is complete or absent; the folder is the only state.

import { assert } from "../core/assert.ts";
import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import type { SkillReference } from "../core/agent.ts";
import { defined } from "../core/defined.ts";
import { ServiceError } from "../core/error.ts";
import { reasonOf } from "../core/reason.ts";
import { syncFolder } from "../core/sync-folder.ts";
import { SKILL_VERSIONS_MAX, STORED_SKILLS_MAX } from "./limits.ts";
import type { Skills, SkillUpload, SkillVersion } from "../core/skills.ts";
import type { Clock } from "../core/state.ts";
import { shown } from "./invalid.ts";
import { INCOMING, loadSkills, removeLeftovers, type VersionFile } from "./load.ts";
import { unpack } from "./unpack.ts";

export interface SkillStoreOptions {
  /** Created by the first upload. */
  readonly folder: string;
  readonly clock?: Clock;
  readonly log: (line: string) => void;
}

export class SkillStore implements Skills {
  private readonly folder: string;
  private readonly clock: Clock;
  private readonly log: (line: string) => void;
  /** Versions by skill, oldest first. */
  private readonly skills: Map<string, readonly SkillVersion[]>;
  /** Serializes the renames of uploads. */
  private turn: Promise<unknown> = Promise.resolve();

  /** Loads the folder. Throws file-system errors. */
  constructor({ folder, clock = Date.now, log }: SkillStoreOptions) {
    this.folder = folder;
    this.clock = clock;
    this.log = log;
    removeLeftovers(folder, clock());
    this.skills = loadSkills(folder, log);
  }

  create(upload: SkillUpload): Promise<SkillVersion> {
    const skillId = `skill_${randomBytes(16).toString("hex")}`;
    return this.store(upload, async (version, staged) => {
      if (this.skills.size >= STORED_SKILLS_MAX) throw full(`${STORED_SKILLS_MAX} skills`);
      return this.place({ ...version, skillId, version: 1 }, staged);
    });
  }

  async addVersion(skillId: string, upload: SkillUpload): Promise<SkillVersion> {
    this.versions(skillId); // fail before unpacking
    return this.store(upload, async (version, staged) => {
      const last = this.versions(skillId).at(-1)?.version;
      assert(last !== undefined, "a skill has a version");
      if (last >= SKILL_VERSIONS_MAX) throw full(`${SKILL_VERSIONS_MAX} versions of a skill`);
      return this.place({ ...version, skillId, version: last + 1 }, staged);
    });
  }

  list(): readonly (readonly SkillVersion[])[] {
    return [...this.skills.values()];
  }

  versions(skillId: string): readonly SkillVersion[] {
    const versions = this.skills.get(skillId);
    if (versions === undefined)
      throw new ServiceError("skill_not_found", `skill ${shown(skillId)} was not found`);
    return versions;
  }

  resolve({ skillId, version }: SkillReference, param: string): SkillVersion {
    const versions = this.skills.get(skillId);
    const found = version === "latest" ? versions?.at(-1) : versions?.find((one) => one.version === version);
    if (found !== undefined) return found;
    const what = versions === undefined ? "" : `version ${version} of `;
    throw new ServiceError("skill_not_found", `${param}: ${what}skill ${shown(skillId)} was not found`, {
      param,
    });
  }

  /** Unpacks an upload into a staging folder and queues its rename. */
  private async store(
    upload: SkillUpload,
    place: (version: VersionFile, staged: string) => Promise<SkillVersion>,
  ): Promise<SkillVersion> {
    const staged = join(this.folder, `${INCOMING}${randomBytes(8).toString("hex")}`);
    try {
      await mkdir(join(staged, "upload"), { recursive: true, mode: 0o700 });
      const version = await this.unpack(upload, staged);
      const placed = this.turn.then(() => place(version, staged));
      this.turn = placed.catch(() => undefined);
      return await placed;
    } catch (error) {
      if (error instanceof ServiceError) throw error;
      this.log(`skills: ${reasonOf(error)}`);
      const message = "the server could not store the skill; its log has the reason";
      throw new ServiceError("storage_unavailable", message, { cause: error });
    } finally {
      await rm(staged, { recursive: true, force: true }).catch(() => undefined); // removed at a later start
    }
  }

  /** Writes `version.json` and `content` to the folder `version` of the staging folder. */
  private async unpack(upload: SkillUpload, staged: string): Promise<VersionFile> {
    const { name, description, root, files } = await unpack(upload, join(staged, "upload"));
    const version: VersionFile = {
      createdAt: Math.floor(this.clock() / 1000),
      name,
      description,
      ...defined({ title: upload.title }),
      directory: root === "" ? name.replaceAll(/[^A-Za-z0-9_-]/g, "_") : root,
      files: [...files],
    };
    const folder = join(staged, "version");
    await mkdir(folder, { mode: 0o700 });
    await rename(join(staged, "upload", root), join(folder, "content"));
    const file = await open(join(folder, "version.json"), "wx", 0o600);
    try {
      await file.writeFile(JSON.stringify(version));
      await file.sync();
    } finally {
      await file.close();
    }
    await syncFolder(folder);
    return version;
  }

  private async place(
    version: VersionFile & Pick<SkillVersion, "skillId" | "version">,
    staged: string,
  ): Promise<SkillVersion> {
    const { skillId } = version;
    const versions = join(this.folder, skillId, "versions");
    const target = join(versions, String(version.version));
    await mkdir(versions, { recursive: true, mode: 0o700 });
    await rename(join(staged, "version"), target);
    for (const folder of [versions, join(this.folder, skillId), this.folder]) await syncFolder(folder);
    const placed: SkillVersion = { ...version, dir: join(target, "content") };
    this.skills.set(skillId, [...(this.skills.get(skillId) ?? []), placed]);
    return placed;
  }
}

function full(what: string): ServiceError {
  return new ServiceError("state_full", `the server already has ${what}, the maximum; delete some first`);
}
