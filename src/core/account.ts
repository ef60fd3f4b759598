// What is known of who asks, by a key or by what a trusted proxy says: name, role, models, limits. Plain data; a field of Caller.

import { type Static, Type } from "@sinclair/typebox";
import { hash } from "node:crypto";
import { defined } from "./defined.ts";
import { ServiceError } from "./error.ts";
import { timeOf } from "./time.ts";

/** `user`: answers of models and what is one's own. `admin`: also what concerns everybody. */
export type Role = "user" | "admin";

/** Most requests a minute that a key may be limited to, and most tokens. */
const RATE_MAX = 1_000_000_000;
const WEIGHT_MAX = 100;

const count = (description: string) =>
  Type.Optional(Type.Integer({ minimum: 1, maximum: RATE_MAX, description }));

/** What a key, or a person behind a proxy, may do: fields of `[[keys]]` and of the file of keys. */
export const accountFields = {
  role: Type.Optional(Type.Union([Type.Literal("user"), Type.Literal("admin")])),
  models: Type.Optional(Type.Array(Type.String({ minLength: 1 }), { minItems: 1 })),
  rpm: count("Requests to models a minute."),
  tpm: count("Tokens a minute, prompts and answers."),
  streams: count("Answers at the same time."),
  budget_tokens_per_day: count("Tokens a day (UTC), prompts and answers."),
  weight: Type.Optional(Type.Integer({ minimum: 1, maximum: WEIGHT_MAX })),
  expires: Type.Optional(
    Type.String({ pattern: "^\\d{4}-\\d\\d-\\d\\d(?:T\\d\\d:\\d\\d:\\d\\d(?:\\.\\d+)?Z)?$" }),
  ),
} as const;

const AccountFields = Type.Object(accountFields);
/** The fields as they are read. */
export type AccountFields = Readonly<Omit<Static<typeof AccountFields>, "models">> & {
  readonly models?: readonly string[];
};

export interface AccountLimits {
  readonly requestsPerMinute?: number;
  readonly tokensPerMinute?: number;
  readonly streams?: number;
  readonly tokensPerDay?: number;
}

export interface Account {
  /** Names it in records: not the key, and the same after a restart. */
  readonly owner: string;
  readonly name: string;
  readonly role: Role;
  /** Names of models, with `*` for any characters; absent: all. */
  readonly models?: readonly string[];
  readonly limits: AccountLimits;
  /** Turns in queues, relative to others. */
  readonly weight: number;
  /** Unix time from which it is refused, milliseconds. */
  readonly expiresMs?: number;
  /** A browser sends what says so by itself, so pages of other sites could. */
  readonly isAmbient?: true;
}

/** What an account is known by: a key itself, the id or name of a key, a person of the proxy. */
export type OwnerKind = "key" | "id" | "name" | "person";

/** How records name an owner. */
export function ownerOf(kind: OwnerKind, text: string): string {
  const said = kind === "key" ? text : `${kind}\n${text}`;
  return hash("sha256", `svc record owner\n${said}`, "base64url").slice(0, 22);
}

/** By which a key is recognized; keys are long and random, so it tells nothing of them. */
export function keyDigest(key: string): string {
  return hash("sha256", key);
}

/** The account of an entry. */
export function accountOf(
  {
    role = "user",
    models,
    rpm,
    tpm,
    streams,
    budget_tokens_per_day: day,
    weight = 1,
    expires,
  }: AccountFields,
  who: Pick<Account, "owner" | "name">,
): Account {
  const limits = { requestsPerMinute: rpm, tokensPerMinute: tpm, streams, tokensPerDay: day };
  const expiresMs = expires === undefined ? undefined : (timeOf(expires) ?? 0); // what is no day has passed
  return { ...who, role, weight, limits: defined(limits), ...defined({ models, expiresMs }) };
}

/** Names of a model: its own and those of what it is made of. */
export interface ModelNames {
  readonly id: string;
  readonly root?: string | undefined;
  readonly parent?: string | undefined;
}

/** Throws `permission_denied` for a model that an account may not use. `name`: as the request names it; `model`: absent where nothing has it. */
export function refuseModel(
  account: Pick<Account, "models"> | undefined,
  name: string,
  model: ModelNames | undefined,
  param = "model",
): void {
  if (account === undefined) return;
  const names = [model?.id, model?.root, model?.parent, name].filter((one) => one !== undefined);
  if (mayUse(account, names)) return;
  const message = `this key may not use the model ${JSON.stringify(name.slice(0, 200))}; it may use ${account.models?.join(", ")}`;
  throw new ServiceError("permission_denied", message, { param });
}

/** Whether an account may use a model. */
export function mayUseModel(
  account: Pick<Account, "models"> | undefined,
  { id, root = id, parent = id }: ModelNames,
): boolean {
  return account === undefined || mayUse(account, [id, root, parent]);
}

/** Whether an account may use a model of these names. */
export function mayUse({ models }: Pick<Account, "models">, names: readonly string[]): boolean {
  return models === undefined || models.some((pattern) => names.some((name) => fits(pattern, name)));
}

/** `qwen*` fits `qwen3`; a pattern without a star fits itself. */
function fits(pattern: string, name: string): boolean {
  const [first = "", ...rest] = pattern.split("*");
  if (rest.length === 0) return pattern === name;
  const last = rest.at(-1) ?? "";
  if (!name.startsWith(first) || !name.endsWith(last) || name.length < first.length + last.length)
    return false;
  let at = first.length;
  for (const piece of rest.slice(0, -1)) {
    const found = name.indexOf(piece, at);
    if (found < 0) return false;
    at = found + piece.length;
  }
  return at <= name.length - last.length;
}
