// Start-up rules of those who may use the server: keys, people, proxies. Secrets of other sources are read later, in app/accounts.ts.

import { isAddressRange } from "../core/address-range.ts";
import { isSecretSource } from "../core/secret.ts";
import { timeOf } from "../core/time.ts";
import { keyParts, type KeyParts } from "./key-entry.ts";
import { type Problem, problemOf } from "./problem.ts";
import type { RawValue } from "./sources.ts";

type Values = ReadonlyMap<string, RawValue>;

/** Problems of keys and proxies. */
export function accessProblems(values: Values): readonly Problem[] {
  return [...keys(values), ...proxies(values)];
}

function keys(values: Values): readonly Problem[] {
  const given = values.get("keys");
  if (!Array.isArray(given?.value)) return [];
  const parts = (given.value as readonly (string | KeyParts)[]).map(keyParts);
  return parts.flatMap((own, index) => {
    const say = (field: string, what: string, fix: string) =>
      problemOf(given, `keys[${index}]${field}`, what, fix);
    const { name, key, user, expires } = own;
    const earlier = parts.slice(0, index);
    const named = earlier.findIndex((one) => one.name === name && one.user === user);
    const same = key === undefined || isSecretSource(key) ? -1 : earlier.findIndex((one) => one.key === key);
    const isWhole = (key === undefined) !== (user === undefined) && (key === undefined || name !== undefined);
    return [
      ...(isWhole
        ? []
        : [say("", "needs name and key, or user alone", "A user is a person whom a proxy has signed in.")]),
      ...(named < 0
        ? []
        : [say("", `has the name of keys[${named}], "${name ?? user ?? ""}"`, "Rename one of them.")]),
      ...(same < 0 ? [] : [say(".key", `is the key of keys[${same}]`, "Choose another one.")]),
      ...(expires === undefined || timeOf(expires) !== undefined
        ? []
        : [say(".expires", "there is no such day", "Write it as 2027-01-31.")]),
    ];
  });
}

/** Addresses and ranges. */
function proxies(values: Values): readonly Problem[] {
  const given = values.get("server.trusted_proxies");
  if (!Array.isArray(given?.value)) return [];
  return (given.value as readonly string[]).flatMap((text, index) => {
    if (isAddressRange(text)) return [];
    const what = `${JSON.stringify(text)} is neither an address nor a range`;
    return [problemOf(given, `${given.path}[${index}]`, what, "Write it as 10.0.0.5 or 10.0.0.0/8.")];
  });
}
