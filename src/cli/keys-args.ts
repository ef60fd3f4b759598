// The commands of `svc keys`.

import { type Command, InvalidArgumentError, Option } from "commander";
import type { AccountFields } from "../core/account.ts";
import { defined } from "../core/defined.ts";
import { isDay } from "../core/time.ts";
import { type Choose, configFile } from "./invocation.ts";
import { flagsOf, withSettings } from "./setting-flags.ts";

/** What `svc keys` does. */
export type KeysCommand =
  | { readonly action: "add"; readonly name: string; readonly fields: AccountFields; readonly json: boolean }
  | { readonly action: "list"; readonly json: boolean }
  | { readonly action: "revoke" | "rotate"; readonly name: string; readonly json: boolean };

interface AddFlags {
  readonly role: "user" | "admin";
  readonly models?: readonly string[];
  readonly rpm?: number;
  readonly tpm?: number;
  readonly streams?: number;
  readonly budgetTokensPerDay?: number;
  readonly weight?: number;
  readonly expires?: string;
  readonly json: boolean;
  readonly file?: string;
}

interface FileFlags {
  readonly json: boolean;
  readonly file?: string;
}

const FLAGS = ["server.keys_file"];
const DAY_MS = 86_400_000;

/** Adds `svc keys add | list | revoke | rotate`. */
export function addKeysCommands(program: Command, choose: Choose): void {
  const keys = program
    .command("keys")
    .description(
      "Keys of a server with names, roles and limits; a running server takes changes over at once.",
    );
  const add = keys
    .command("add")
    .description("Make a key and print it, once.")
    .argument("<name>", "whose it is, for lists, logs and usage")
    .addOption(
      new Option("--role <role>", "user, or admin for what concerns everybody")
        .choices(["user", "admin"])
        .default("user"),
    )
    .option(
      "--models <names>",
      "models that it may use, with commas between; * stands for any characters",
      namesOf,
    )
    .option("--rpm <n>", "requests to models a minute", wholeNumber)
    .option("--tpm <n>", "tokens a minute, prompts and answers", wholeNumber)
    .option("--streams <n>", "answers at the same time", wholeNumber)
    .option("--budget-tokens-per-day <n>", "tokens a day (UTC), prompts and answers", wholeNumber)
    .option("--weight <n>", "turns in queues, relative to other keys: 1 to 100", weightOf)
    .option("--expires <when>", "day (2027-01-31), or days from now (90d)", dayOf);
  withFile(add).action((name: string, { role, budgetTokensPerDay, file, json, ...limits }: AddFlags) => {
    const fields = { role, ...limitsOf(limits), ...defined({ budget_tokens_per_day: budgetTokensPerDay }) };
    choose({ command: "keys", action: "add", name, fields, json, ...configFile(file), flags: flagsOf(add) });
  });
  const list = withFile(keys.command("list").alias("ls").description("List the keys: names, roles, limits."));
  list.action(({ file, json }: FileFlags) =>
    choose({ command: "keys", action: "list", json, ...configFile(file), flags: flagsOf(list) }),
  );
  for (const [action, description] of [
    ["revoke", "Refuse a key from now on."],
    ["rotate", "Replace a key: the new one has its name, limits, files and sessions."],
  ] as const) {
    const command = withFile(
      keys.command(action).description(description).argument("<name>", "name of the key"),
    );
    command.action((name: string, { file, json }: FileFlags) =>
      choose({ command: "keys", action, name, json, ...configFile(file), flags: flagsOf(command) }),
    );
  }
}

function withFile(command: Command): Command {
  command.option("-f, --file <file>", "TOML file of the server, where that names keys_file");
  command.option("--json", "print JSON", false);
  return withSettings(command, FLAGS);
}

function limitsOf({
  models,
  rpm,
  tpm,
  streams,
  weight,
  expires,
}: Omit<AddFlags, "role" | "json">): AccountFields {
  return defined({ models, rpm, tpm, streams, weight, expires });
}

function namesOf(text: string): readonly string[] {
  const names = text.split(",").map((name) => name.trim());
  if (names.includes("")) throw new InvalidArgumentError("Give names with commas between.");
  return names;
}

function wholeNumber(text: string): number {
  if (!/^[1-9]\d{0,8}$/.test(text))
    throw new InvalidArgumentError("Give a whole number from 1 to 999999999.");
  return Number(text);
}

function weightOf(text: string): number {
  const weight = wholeNumber(text);
  if (weight > 100) throw new InvalidArgumentError("Give a whole number from 1 to 100.");
  return weight;
}

function dayOf(text: string): string {
  const [, days] = /^([1-9]\d{0,4})d$/.exec(text) ?? [];
  if (days !== undefined) return new Date(Date.now() + Number(days) * DAY_MS).toISOString();
  if (isDay(text)) return text;
  throw new InvalidArgumentError("Give a day (2027-01-31), or days from now (90d).");
}
