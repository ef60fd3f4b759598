// By which keys and people a server is used: from settings and the file of keys.

import { join } from "node:path";
import { KeyBook, type NamedKey } from "../access/key-book.ts";
import { configFolder } from "../config/cache-folder.ts";
import { keyParts, type KeyParts } from "../config/key-entry.ts";
import type { Settings } from "../config/settings.ts";
import { processEnvironment } from "../config/sources.ts";
import { type AccountFields, accountOf, keyDigest, ownerOf } from "../core/account.ts";
import { reasonOf } from "../core/reason.ts";
import { readSecrets } from "../core/secret.ts";
import { StartError } from "../core/start-error.ts";
import { ApiKeys } from "../http/api-keys.ts";
import { people } from "./people.ts";

/** All by which callers are recognized. */
export interface Accounts {
  readonly apiKeys: ApiKeys;
  /** Takes over other keys of the settings. Throws StartError, before anything is changed, for a key whose source is gone. */
  readonly replaceKeys: (next: Settings) => void;
}

/** The keys that `api_keys` names. Throws StartError. */
function apiKeysOf(entries: readonly string[]): readonly string[] {
  return readSecrets("server.api_keys", entries, processEnvironment());
}

/** Where `svc keys` keeps the keys of a server. */
export function keysFileOf({ server }: Settings): string {
  return server.keys_file ?? join(configFolder(processEnvironment()), "keys.json");
}

/** Keys of settings by name, and what they say of people. Throws StartError. */
function namedOf(settings: Settings) {
  const keys: readonly KeyParts[] = (settings.keys ?? []).map((entry) => keyParts(entry));
  const people = new Map(
    keys.flatMap(({ user, ...fields }) => (user === undefined ? [] : [[user, fields] as const])),
  );
  const named = keys.flatMap(({ name = "", key, ...fields }) => {
    const [secret] = key === undefined ? [] : readSecrets(`keys "${name}"`, [key], processEnvironment());
    if (secret === undefined) return [];
    return [
      { digest: keyDigest(secret), account: accountOf(fields, { owner: ownerOf("name", name), name }) },
    ];
  });
  const twice = named.find(({ digest }, index) => named.findIndex((one) => one.digest === digest) < index);
  if (twice !== undefined)
    throw new StartError(`keys: ${twice.account.name} has the key of another one; choose another key`);
  return { people, named };
}

/** The header that names people counts from proxies only. Throws StartError. */
function peopleOf({ server }: Settings, entryOf: (user: string) => AccountFields | undefined) {
  if (server.user_header === undefined) return {};
  if (server.trusted_proxies === undefined)
    throw new StartError(
      "server.user_header: any client could send it; set trusted_proxies to the proxy's address",
    );
  const person = people({
    userHeader: server.user_header,
    groupsHeader: server.groups_header,
    proxies: server.trusted_proxies,
    adminGroups: server.admin_groups ?? [],
    userGroups: server.user_groups,
    entryOf,
  });
  return { person };
}

/** All by which callers are recognized, and how that is changed while the server runs. Throws StartError. */
export function openAccounts(settings: Settings, log: (line: string) => void): Accounts {
  let { people: persons, named } = namedOf(settings);
  let hasNamed = settings.keys !== undefined;
  const book = keyBook(keysFileOf(settings), log);
  const all = inOneList<NamedKey>();
  const apiKeys = new ApiKeys(apiKeysOf(settings.server.api_keys ?? []), {
    named: () => all(hasNamed ? named : undefined, book.keys()),
    ...peopleOf(settings, (user) => persons.get(user) ?? persons.get("*")),
  });
  return {
    apiKeys,
    replaceKeys: (next) => {
      const plain = apiKeysOf(next.server.api_keys ?? []); // a file of keys may have changed as well
      ({ people: persons, named } = namedOf(next));
      hasNamed ||= next.keys !== undefined;
      apiKeys.replace(plain);
    },
  };
}

/** Joins two lists; the same two give the same list again. */
function inOneList<T>() {
  let last: readonly [
    one: readonly T[] | undefined,
    other: readonly T[] | undefined,
    both: readonly T[] | undefined,
  ] = [undefined, undefined, undefined];
  return (one: readonly T[] | undefined, other: readonly T[] | undefined): readonly T[] | undefined => {
    if (one !== last[0] || other !== last[1]) last = [one, other, [...(one ?? []), ...(other ?? [])]];
    return last[2];
  };
}

function keyBook(file: string, log: (line: string) => void): KeyBook {
  try {
    return new KeyBook(file, log);
  } catch (error) {
    throw new StartError(reasonOf(error), { cause: error });
  }
}
