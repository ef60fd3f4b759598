// What results of a model depend on besides tokens: its files, adapters, the library's release, kernels and number format.

import { createHash } from "node:crypto";
import { closeSync, fstatSync, openSync, readSync } from "node:fs";
import { type AdapterId, BASE_MODEL } from "../../src/core/adapter.ts";
import type { TextOptions } from "../../src/engine/protocol.ts";
import { NATIVE } from "../embedded.ts";
import { manifestHash } from "../extract.ts";
import { describeHost } from "../host.ts";
import type { Native } from "../library.ts";

/** Bytes at the beginning and at the end of a file that identify it, besides its size and time of change. */
const IDENTIFYING_BYTES = 1 << 20;

interface FileIdentity {
  readonly size: number;
  readonly mtimeMs: number;
  readonly hash: string;
}

interface IdentityParts {
  /** Files of the model and of adapters that are part of it. */
  readonly files: readonly string[];
  /** File of the draft model, whose cells are copied with the model's; at most one. */
  readonly drafts: readonly string[];
  readonly cacheType: string;
  /** Instruction set and kernels. */
  readonly kernels: string;
  /** Cells are the same bit for bit only if the same kernels computed them, and must be. */
  readonly isInvariant: boolean;
}

/** The identity of a loaded model. */
export function newIdentity(
  native: Native,
  path: string,
  { adapterPath, cacheType, batchInvariant, speculative }: TextOptions,
): LlamaIdentity {
  const files = adapterPath === undefined ? [path] : [path, adapterPath];
  const isInvariant = batchInvariant === true;
  const draft = speculative?.type === "mtp" ? speculative.mtpModel : undefined;
  const drafts = draft === undefined ? [] : [draft];
  return new LlamaIdentity({ files, drafts, cacheType, kernels: kernelsOf(native), isInvariant });
}

/** Instruction set and kernels. */
function kernelsOf(native: Native): string {
  const { cpu_variant: variant, cpu_features: features, kernels } = describeHost(native);
  return [variant, ...features, ...kernels].join(" ");
}

export class LlamaIdentity {
  private readonly parts: IdentityParts;
  private files: readonly FileIdentity[] | undefined; // read at the first use
  private drafts: readonly FileIdentity[] | undefined;
  private readonly adapters = new Map<AdapterId, FileIdentity>();

  constructor(parts: IdentityParts) {
    this.parts = parts;
  }

  /** Results are the same bit for bit in every batch. */
  get isInvariant(): boolean {
    return this.parts.isInvariant;
  }

  /** An adapter was loaded from a file. */
  adapterLoaded(adapter: AdapterId, path: string): void {
    this.adapters.set(adapter, fileIdentity(path));
  }

  /** Of cells: also by the files' times of change, since their middles are not hashed. */
  ofCells(adapter: AdapterId): string {
    const { cacheType, kernels, isInvariant, drafts } = this.parts;
    this.drafts ??= drafts.map(fileIdentity);
    const all = [...this.filesOf(adapter), ...this.drafts];
    const files = all.map(({ size, mtimeMs, hash }) => [size, mtimeMs, hash]);
    return JSON.stringify([manifestHash(NATIVE), cacheType, isInvariant ? kernels : "", ...files]);
  }

  /** Of answers: the same for a copy of the files. */
  ofAnswers(adapter: AdapterId): string {
    const { cacheType, kernels, isInvariant } = this.parts;
    const files = this.filesOf(adapter).map(({ size, hash }) => [size, hash]);
    return JSON.stringify([manifestHash(NATIVE), cacheType, kernels, isInvariant, ...files]);
  }

  private filesOf(adapter: AdapterId): readonly FileIdentity[] {
    this.files ??= this.parts.files.map(fileIdentity);
    const added = adapter === BASE_MODEL ? undefined : this.adapters.get(adapter);
    return added === undefined ? this.files : [...this.files, added];
  }
}

/** Size, time of change, and a hash over beginning and end: hashing all of a model would take seconds. */
function fileIdentity(path: string): FileIdentity {
  const file = openSync(path, "r");
  try {
    const { size, mtimeMs } = fstatSync(file);
    const hash = createHash("sha256");
    const bytes = new Uint8Array(Math.min(size, IDENTIFYING_BYTES));
    for (const at of [0, size - bytes.length]) {
      readSync(file, bytes, 0, bytes.length, at);
      hash.update(bytes);
    }
    return { size, mtimeMs, hash: hash.digest("hex") };
  } finally {
    closeSync(file);
  }
}
