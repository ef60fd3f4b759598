// The API keys of a server. Clients send one as `Authorization: Bearer KEY` or `x-api-key: KEY`. Knows no routes.

import { itemAt } from "../core/assert.ts";
import { createHash, timingSafeEqual } from "node:crypto";

interface Known {
  readonly digest: Buffer;
  readonly owner: string;
}

export class ApiKeys {
  private known: readonly Known[];

  constructor(keys: readonly string[]) {
    this.known = keys.map(knownKey);
  }

  /** Other keys from now on. */
  replace(keys: readonly string[]): void {
    this.known = keys.map(knownKey);
  }

  /** The owner of what was made before there were keys: the first of them. */
  get legacyOwner(): string {
    return itemAt(this.known, 0).owner;
  }

  /** The key that a request brings; undefined where it brings none. */
  static sentIn(headers: Headers): string | undefined {
    const bearer = /^bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1]?.trim();
    return bearer ?? headers.get("x-api-key") ?? undefined;
  }

  /** Names the owner of what is made under the key that a request brings; undefined without one of this server's keys. */
  ownerOf(headers: Headers): string | undefined {
    const sent = ApiKeys.sentIn(headers);
    // All are compared, each in constant time, so that the answer's time tells nothing about them.
    const sentDigest = digestOf(sent ?? "");
    let owner: string | undefined;
    for (const known of this.known) if (timingSafeEqual(known.digest, sentDigest)) owner = known.owner;
    return sent === undefined ? undefined : owner;
  }
}

function knownKey(key: string): Known {
  return { digest: digestOf(key), owner: ownerOfKey(key) };
}

/** As records of a key name it: not the key, and the same after a restart. */
function ownerOfKey(key: string): string {
  return digestOf(`svc record owner\n${key}`).toString("base64url").slice(0, 22);
}

function digestOf(text: string): Buffer {
  return createHash("sha256").update(text).digest();
}
