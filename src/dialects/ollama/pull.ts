// Bodies of /api/pull and /api/delete.

import type { Json } from "../../core/json.ts";
import { type Static, Type } from "@sinclair/typebox";
import { textDigest } from "../../core/digest.ts";
import { ServiceError } from "../../core/error.ts";
import type { HubPull } from "../../core/hub.ts";
import { checker } from "../shared/check.ts";
import { OllamaDeleteRequest, OllamaPullRequest } from "./schema.ts";

export const OllamaPullProgress = Type.Object(
  {
    status: Type.String({
      description:
        "`pulling manifest`, `pulling` with the digest, `verifying sha256 digest`, `writing manifest`, `success`.",
    }),
    digest: Type.Optional(
      Type.String({
        description: "`sha256:` and the hash of the content, or of its name where that is unknown.",
      }),
    ),
    total: Type.Optional(Type.Integer({ minimum: 0, description: "Size of the file, bytes." })),
    completed: Type.Optional(
      Type.Integer({ minimum: 0, description: "Downloaded so far, bytes; absent before the first ones." }),
    ),
  },
  { $id: "OllamaPullProgress", description: "One line of a download's progress." },
);
type OllamaPullProgress = Static<typeof OllamaPullProgress>;

const checkPull = checker(OllamaPullRequest);
const checkDelete = checker(OllamaDeleteRequest);

/** Parses the body of /api/pull. Throws ServiceError. */
export function parseOllamaPull(json: Json): { readonly model: string; readonly stream: boolean } {
  const body = checkPull(json);
  return { model: named(body), stream: body.stream ?? true };
}

/** Parses the body of /api/delete and returns the model. Throws ServiceError. */
export function parseOllamaDelete(json: Json): string {
  return named(checkDelete(json));
}

function named({ model, name }: { readonly model?: string | null; readonly name?: string | null }): string {
  const said = model ?? name ?? "";
  if (said === "") throw new ServiceError("missing_field", "model is required", { param: "model" });
  return said;
}

/** The last line of a pull: all that clients get who do not stream. */
export const OLLAMA_PULL_END: OllamaPullProgress = { status: "success" };

/** States of a pull as lines: one for each file that has grown. */
export class OllamaPullLines {
  private readonly completed = new Map<string, number>(); // bytes by path
  private isFirst = true;

  encode(pull: HubPull): string {
    const lines: (OllamaPullProgress | { readonly error: string })[] = [];
    if (this.isFirst) lines.push({ status: "pulling manifest" });
    this.isFirst = false;
    for (const { path, sha256, size_bytes: total, completed_bytes: completed } of pull.files) {
      if (this.completed.get(path) === completed) continue;
      this.completed.set(path, completed);
      const digest = sha256 ?? textDigest(path);
      const line = { status: `pulling ${digest.slice(0, 12)}`, digest: `sha256:${digest}`, total };
      lines.push(completed === 0 ? line : { ...line, completed });
    }
    lines.push(...endingOf(pull));
    return lines.map((line) => `${JSON.stringify(line)}\n`).join("");
  }
}

function endingOf({ status, error }: HubPull): readonly (OllamaPullProgress | { readonly error: string })[] {
  switch (status) {
    case "completed":
      return [{ status: "verifying sha256 digest" }, { status: "writing manifest" }, OLLAMA_PULL_END];
    case "failed":
      return [{ error: error?.message ?? "the download failed" }];
    case "paused":
      return [{ error: "the download was paused; pull the model again to resume" }];
    case "queued":
    case "downloading":
      return [];
  }
}
