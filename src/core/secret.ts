// Sources of secrets in settings: `env:NAME`, `path:FILE`, `literal:SECRET`. A secret is never logged and never part of an error.

import { textIn } from "./readable.ts";
import { StartError } from "./start-error.ts";

const SOURCE = /^(env|path|literal):(\S.*)$/;

/** The forms, for messages that say how to fix a setting. */
export const SECRET_FORMS = "env:NAME, path:FILE or literal:SECRET";

/** Whether a setting has one of the forms. */
export function isSecretSource(source: string): boolean {
  return SOURCE.test(source);
}

/** A name of the environment in a secret as compose files and shells write it; svc expands none. */
const REFERENCE = /\$\{([A-Za-z_]\w*)[^}]*\}|^\$([A-Za-z_]\w*)$/;

/** The name that a secret refers to in a form that is not expanded: it would be a text from public documents. */
export function unexpandedName(secret: string): string | undefined {
  const [, braced, plain] = REFERENCE.exec(secret) ?? [];
  return braced ?? plain;
}

/** What a client can send in a header: printable ASCII characters, with no blanks around them. */
const SENDABLE = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/;

/** Whether a secret can stand in a header. */
export function isSendable(secret: string): boolean {
  return SENDABLE.test(secret);
}

/**
 * The secrets of a setting that holds some of them, as they are or by their sources; a file has one a line. Throws StartError naming
 * the entry, never its value.
 */
export function readSecrets(
  setting: string,
  entries: readonly string[],
  environment: Readonly<Record<string, string | undefined>>,
): readonly string[] {
  return entries.flatMap((entry, index) => {
    const text = isSecretSource(entry) ? (readSecret(entry, environment) ?? "") : entry;
    const lines = isSecretSource(entry) ? text.split("\n") : [text];
    const found = lines.map((line) => line.trim()).filter((line) => line !== "");
    if (!found.every(isSendable))
      throw new StartError(
        `${setting}[${index}]: no client can send it, since headers hold printable ASCII characters only. Choose another, such as one of svc keys add.`,
      );
    if (found.length > 0) return found;
    const kind = entry.slice(0, entry.indexOf(":"));
    throw new StartError(
      `${setting}[${index}]: ${kind === "env" ? "the environment has no such name" : "the file cannot be read or is empty"}. Use ${SECRET_FORMS}, or the secret itself.`,
    );
  });
}

/** The secret of a source, without white space around it; undefined where the source has none. */
export function readSecret(
  source: string,
  environment: Readonly<Record<string, string | undefined>>,
): string | undefined {
  const [, kind, place = ""] = SOURCE.exec(source) ?? [];
  const found = kind === "env" ? environment[place] : kind === "path" ? textIn(place) : place;
  const secret = found?.trim();
  return secret === "" ? undefined : secret;
}
