// Sources of secrets in settings: `env:NAME`, `path:FILE`, `literal:SECRET`. A secret is never logged and never part of an error.

import { readFileSync } from "node:fs";

const SOURCE = /^(env|path|literal):(\S.*)$/;

/** The forms, for messages that say how to fix a setting. */
export const SECRET_FORMS = "env:NAME, path:FILE or literal:SECRET";

/** Whether a setting has one of the forms. */
export function isSecretSource(source: string): boolean {
  return SOURCE.test(source);
}

/** The secret of a source, without white space around it; undefined where the source has none. */
export function readSecret(
  source: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const [, kind, place = ""] = SOURCE.exec(source) ?? [];
  const found = kind === "env" ? environment[place] : kind === "path" ? textOf(place) : place;
  const secret = found?.trim();
  return secret === "" ? undefined : secret;
}

function textOf(file: string): string | undefined {
  try {
    return readFileSync(file, "utf8");
  } catch {
    return undefined; // a file that cannot be read has no secret
  }
}
