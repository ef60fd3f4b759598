// Skills: folders of instructions and programs that clients upload and the shell tool mounts. Spec: Skills.

import type { SkillReference } from "./agent.ts";

/** One uploaded version of a skill. */
export interface SkillVersion {
  readonly skillId: string;
  /** 1, 2, 3 … */
  readonly version: number;
  /** Unix seconds. */
  readonly createdAt: number;
  /** Metadata of its SKILL.md. */
  readonly name: string;
  readonly description: string;
  /** Name that people see, where the uploader gave one. */
  readonly title?: string;
  /** Name of the folder that was uploaded. */
  readonly directory: string;
  /** Absolute path of the folder here. */
  readonly dir: string;
  /** Paths of its files from that folder on, sorted, with `/`. */
  readonly files: readonly string[];
}

/** A file of an upload; its name may have folders. */
export interface SkillFile {
  readonly path: string;
  readonly pieces: readonly Uint8Array<ArrayBuffer>[];
}

/** A zip archive, or the files of one folder. */
export interface SkillUpload {
  readonly title?: string;
  readonly files: readonly SkillFile[];
}

export interface Skills {
  /** Stores a new skill as its version 1. Throws `invalid_skill_upload`, `state_full`, `storage_unavailable`. */
  create(upload: SkillUpload): Promise<SkillVersion>;
  /** Stores a new version. Throws `skill_not_found` too. */
  addVersion(skillId: string, upload: SkillUpload): Promise<SkillVersion>;
  /** All skills by their versions, oldest first; none is empty. */
  list(): readonly (readonly SkillVersion[])[];
  /** Versions of a skill, oldest first. Throws `skill_not_found`. */
  versions(skillId: string): readonly SkillVersion[];
  /** The version that a request names. Throws `skill_not_found`, naming `param`. */
  resolve(reference: SkillReference, param: string): SkillVersion;
}
