// `svc keys` makes, lists, replaces and revokes keys in the file that servers read; `svc usage` asks a server what they have used.

import { changeKeyFile, type KeyRecord, newKey, newKeyId, readKeyFile } from "../access/key-file.ts";
import { keysFileOf } from "../app/accounts.ts";
import { EXIT, type Invocation } from "../cli/invocation.ts";
import { columns } from "../cli/table.ts";
import { type UsageCommand, usageText } from "../cli/usage-table.ts";
import type { Loaded } from "../config/resolve.ts";
import { unreachable } from "../core/assert.ts";
import { keyDigest } from "../core/account.ts";
import { visibleLine } from "../core/visible-text.ts";
import { type CommandHost, failed } from "./host.ts";

type KeysInvocation = Extract<Invocation, { command: "keys" }>;

/** Names are printed in tables and logs. */
const NAME = /^[\p{L}\p{N}][\p{L}\p{N}._@+ -]{0,99}$/u;
/** Names of the keys of `api_keys`. */
const RESERVED = /^key-\d+$/;

/** Carries one of the commands out and prints its result. */
export async function runKeys(
  { settings }: Pick<Loaded, "settings">,
  invocation: KeysInvocation,
  host: Pick<CommandHost, "complain">,
): Promise<number> {
  try {
    process.stdout.write(await resultOf(keysFileOf(settings), invocation));
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  }
}

/** Prints what keys of a running server have used. */
export async function runUsage(
  { settings }: Pick<Loaded, "settings">,
  invocation: UsageCommand,
  host: Pick<CommandHost, "complain">,
): Promise<number> {
  try {
    process.stdout.write(await usageText(invocation, settings));
    return EXIT.ok;
  } catch (error) {
    return failed(host, error);
  }
}

function resultOf(file: string, invocation: KeysInvocation): Promise<string> | string {
  switch (invocation.action) {
    case "add":
      return add(file, invocation);
    case "list":
      return listed(readKeyFile(file) ?? [], file, invocation.json);
    case "rotate":
      return rotate(file, invocation);
    case "revoke":
      return revoke(file, invocation);
    default:
      return unreachable(invocation);
  }
}

async function add(
  file: string,
  { name, fields, json }: Extract<KeysInvocation, { action: "add" }>,
): Promise<string> {
  if (!NAME.test(name))
    throw new Error(
      `${JSON.stringify(visibleLine(name))} is no name: use up to 100 letters, digits, blanks and . _ @ + -`,
    );
  if (RESERVED.test(name)) throw new Error(`${name} is the name of a key of api_keys; choose another one`);
  const key = newKey();
  const isFirst = await changeKeyFile(file, (keys) => {
    if (keys.some((one) => one.name === name))
      throw new Error(`there is a key ${name} already; svc keys rotate replaces it, svc keys revoke ends it`);
    const { models, ...rest } = fields;
    const record: KeyRecord = {
      id: newKeyId(),
      name,
      digest: keyDigest(key),
      created: new Date().toISOString(),
      ...rest,
      ...(models === undefined ? {} : { models: [...models] }),
    };
    return [[...keys, record], keys.length === 0];
  });
  const note = isFirst ? `The first key: servers that read ${file} require one from now on.\n` : "";
  return made(name, key, json, note);
}

async function rotate(
  file: string,
  { name, json }: { readonly name: string; readonly json: boolean },
): Promise<string> {
  const key = newKey();
  await changeKeyFile(file, (keys) => {
    mustHave(keys, name, file);
    return [keys.map((one) => (one.name === name ? { ...one, digest: keyDigest(key) } : one)), undefined];
  });
  return made(name, key, json, "The old key is refused from now on.\n");
}

async function revoke(
  file: string,
  { name, json }: { readonly name: string; readonly json: boolean },
): Promise<string> {
  const left = await changeKeyFile(file, (keys) => {
    mustHave(keys, name, file);
    const others = keys.filter((one) => one.name !== name);
    return [others, others.length];
  });
  if (json) return asJson({ name, revoked: true });
  return `${name} is refused from now on${left === 0 ? "; no key is left in the file, and servers that read it still require one" : ""}.\n`;
}

function made(name: string, key: string, json: boolean, note: string): string {
  if (json) return asJson({ name, key });
  return `${key}\n${note}It is shown only now: the file has its digest.\n`;
}

function mustHave(keys: readonly KeyRecord[], name: string, file: string): void {
  if (keys.some((one) => one.name === name)) return;
  const names = keys.map((one) => one.name).join(", ");
  throw new Error(`${file} has no key ${name}${names === "" ? "" : `; it has ${names}`}`);
}

function listed(keys: readonly KeyRecord[], file: string, json: boolean): string {
  if (json) return asJson(keys.map((key) => ({ ...key, digest: undefined })));
  if (keys.length === 0) return `${file} has no keys; svc keys add NAME makes one.\n`;
  const rows = keys.map((key) => [
    key.name,
    key.role ?? "user",
    key.models?.join(",") ?? "all",
    ...[key.rpm, key.tpm, key.streams, key.budget_tokens_per_day].map((limit) => String(limit ?? "")),
    key.expires?.slice(0, 10) ?? "",
  ]);
  return columns(
    [["NAME", "ROLE", "MODELS", "RPM", "TPM", "STREAMS", "TOKENS/DAY", "EXPIRES"], ...rows],
    (column) => column >= 3 && column <= 6,
  );
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, undefined, 2)}\n`;
}
