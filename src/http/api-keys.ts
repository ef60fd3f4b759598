// Recognizes who asks: by a key, which clients send as `Authorization: Bearer KEY` or `x-api-key: KEY`, or by what a trusted proxy
// says. Knows no routes.

import { type Account, keyDigest, ownerOf } from "../core/account.ts";

/** Sources of accounts beside plain keys. */
export interface OtherAccounts {
  /** Keys with names now; undefined while there are none and never were. The same list until it changes. */
  readonly named?: () => readonly { readonly digest: string; readonly account: Account }[] | undefined;
  /** The person that a trusted proxy names; undefined where it names none. Throws ServiceError for one who may not enter. */
  readonly person?: (peer: string, headers: Headers) => Account | undefined;
}

type Named = NonNullable<ReturnType<NonNullable<OtherAccounts["named"]>>>;

/** The owner of records from before there were keys, where no administrator has a key. */
const NO_OWNER = "";

export class ApiKeys {
  private plain: ReadonlyMap<string, Account>;
  private readonly others: OtherAccounts;
  private read: { readonly from: Named; readonly accounts: ReadonlyMap<string, Account> } | undefined;

  /** `keys`: plain ones, which are administrators' and named by their place. */
  constructor(keys: readonly string[], others: OtherAccounts = {}) {
    this.plain = plainAccounts(keys);
    this.others = others;
  }

  /** Other plain keys from now on. */
  replace(keys: readonly string[]): void {
    this.plain = plainAccounts(keys);
  }

  /** Whether requests need a key, or a proxy that vouches for them. */
  get isRequired(): boolean {
    return (
      this.plain.size > 0 ||
      this.others.person !== undefined ||
      this.named().size > 0 ||
      this.read !== undefined
    );
  }

  /** The owner of what was made before there were keys: the first administrator. */
  get legacyOwner(): string {
    const [first] = this.plain.values();
    return (first ?? [...this.named().values()].find(({ role }) => role === "admin"))?.owner ?? NO_OWNER;
  }

  /** The key that a request brings; undefined where it brings none. */
  static sentIn(headers: Headers): string | undefined {
    const bearer = /^bearer +(.+)$/i.exec(headers.get("authorization") ?? "")?.[1]?.trim();
    return bearer ?? headers.get("x-api-key") ?? undefined;
  }

  /**
   * The account of a request; undefined without one of this server's keys. What the answer's time tells is about digests, from which
   * no key follows. `peer`: the other end of the connection. Throws ServiceError for a person who may not enter.
   */
  accountOf(headers: Headers, peer: () => string): Account | undefined {
    const sent = ApiKeys.sentIn(headers);
    const known = sent === undefined ? undefined : this.ofKey(keyDigest(sent));
    if (known !== undefined) return known;
    const person = this.others.person?.(peer(), headers); // proxies may put a token of their own into `authorization`
    return person === undefined || isExpired(person) ? undefined : person;
  }

  private ofKey(digest: string): Account | undefined {
    const account = this.plain.get(digest) ?? this.named().get(digest);
    return account === undefined || isExpired(account) ? undefined : account;
  }

  private named(): ReadonlyMap<string, Account> {
    const from = this.others.named?.();
    if (from === undefined) return NONE;
    if (this.read?.from !== from)
      this.read = { from, accounts: new Map(from.map(({ digest, account }) => [digest, account])) };
    return this.read.accounts;
  }
}

const NONE: ReadonlyMap<string, Account> = new Map();

function isExpired({ expiresMs }: Account): boolean {
  return expiresMs !== undefined && expiresMs <= Date.now();
}

function plainAccounts(keys: readonly string[]): ReadonlyMap<string, Account> {
  return new Map(
    keys.map((key, index) => [
      keyDigest(key),
      { owner: ownerOf("key", key), name: `key-${index + 1}`, role: "admin", limits: {}, weight: 1 },
    ]),
  );
}
