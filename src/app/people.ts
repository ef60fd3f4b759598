// People whom a reverse proxy has signed in: it names them, and their groups, in headers that count from trusted addresses only.

import { isUtf8 } from "node:buffer";
import { type Account, accountOf, type AccountFields, ownerOf, type Role } from "../core/account.ts";
import { ServiceError } from "../core/error.ts";
import { addressesWithin } from "../net/client-address.ts";

export interface PeopleOptions {
  /** Names of the headers. */
  readonly userHeader: string;
  readonly groupsHeader: string | undefined;
  /** Addresses and ranges of the proxies. */
  readonly proxies: readonly string[];
  readonly adminGroups: readonly string[];
  /** Groups whose members are users; absent: everybody whom the proxy lets in. */
  readonly userGroups: readonly string[] | undefined;
  /** Role and limits of a person; those of `*` are everybody's who has none. */
  readonly entryOf: (user: string) => AccountFields | undefined;
}

/** A name as it comes in a header: one, since a proxy that adds its own behind a client's would join both by a comma. */
const USER = /^[^\s,](?:[^,]{0,253}[^\s,])?$/;

/** Makes the function that finds the person of a request. It throws `permission_denied` for one of no group that may enter. */
export function people(options: PeopleOptions): (peer: string, headers: Headers) => Account | undefined {
  const { userHeader, groupsHeader, proxies, userGroups, entryOf } = options;
  const isTrusted = addressesWithin(proxies);
  return (peer, headers) => {
    if (!isTrusted(peer)) return undefined;
    const user = textOf(headers.get(userHeader)).trim();
    if (!USER.test(user)) return undefined;
    const groups = textOf(groupsHeader === undefined ? null : headers.get(groupsHeader))
      .split(/[,;|]/)
      .map((one) => one.trim());
    const entry = entryOf(user);
    const role = entry?.role ?? roleOf(groups, options);
    if (role === undefined) {
      const message = `${JSON.stringify(user)} is in none of the groups that may use this server (${userGroups?.join(", ")}); ask its administrator`;
      throw new ServiceError("permission_denied", message);
    }
    return {
      ...accountOf({ ...entry, role }, { owner: ownerOf("person", user), name: user }),
      isAmbient: true,
    };
  };
}

/** A header is bytes, of which the runtime makes one character each; proxies write names in UTF-8. */
function textOf(header: string | null): string {
  if (header === null) return "";
  const bytes = Buffer.from(header, "latin1");
  return isUtf8(bytes) ? bytes.toString("utf8") : header;
}

function roleOf(groups: readonly string[], { adminGroups, userGroups }: PeopleOptions): Role | undefined {
  if (groups.some((group) => adminGroups.includes(group))) return "admin";
  return userGroups === undefined || groups.some((group) => userGroups.includes(group)) ? "user" : undefined;
}
