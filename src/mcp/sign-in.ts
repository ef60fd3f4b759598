// Sign-ins to remote MCP servers by OAuth 2.1 (MCP 2025-11-25, Authorization): registrations and tokens in files of the user,
// and their use. The SDK runs the protocol; this keeps what it is given.

import { hash, randomBytes } from "node:crypto";
import { readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import type {
  OAuthClientMetadata,
  OAuthClientProvider,
  OAuthDiscoveryState,
  StoredOAuthClientInformation,
  StoredOAuthTokens,
} from "@modelcontextprotocol/client";
import { defined } from "../core/defined.ts";
import type { OAuthClient } from "../core/mcp-config.ts";
import { writePrivateFile } from "../core/whole-file.ts";
import { McpFailure } from "./failure.ts";
import { MCP_SCOPE_CHARS_MAX, MCP_TOKEN_CHARS_MAX } from "./limits.ts";

/** One file for each address of a server, in a folder of the user. */
export class SignIns {
  private readonly folder: string;

  constructor(folder: string) {
    this.folder = folder;
  }

  /** The sign-in at a server; undefined if it is missing. */
  of(url: string): SignIn | undefined {
    const signIn = new SignIn(this.fileOf(url));
    return signIn.tokens() === undefined ? undefined : signIn;
  }

  /** Scopes that the server asked for since the sign-in; undefined if it asked for none. */
  wantedScope(url: string): string | undefined {
    return new SignIn(this.fileOf(url)).wantedScope;
  }

  /** A new sign-in that replaces the one at a server when it has its tokens. */
  begin(url: string, redirect: Redirect, client?: OAuthClient): SignIn {
    return new SignIn(this.fileOf(url), redirect, client);
  }

  /** Forgets the sign-in at a server; false if it is missing. */
  remove(url: string): boolean {
    const isThere = this.of(url) !== undefined;
    rmSync(this.fileOf(url), { force: true });
    return isThere;
  }

  private fileOf(url: string): string {
    return join(this.folder, `${hash("sha256", url)}.json`);
  }
}

/** How a person is led to the page of the server, and back to an address of this machine. */
interface Redirect {
  readonly url: string;
  readonly open: (page: URL) => void;
}

interface Kept {
  readonly client?: StoredOAuthClientInformation;
  readonly tokens?: StoredOAuthTokens;
  /** Scopes that the server asked for after these tokens. */
  readonly wantedScope?: string;
}

/** A registration at an authorization server and its tokens, which the SDK reads and renews. */
export class SignIn implements OAuthClientProvider {
  private readonly file: string;
  private readonly redirect: Redirect | undefined;
  /** Of a new sign-in, until it has tokens. */
  private begun: Kept | undefined;
  private verifier = "";
  private discovered: OAuthDiscoveryState | undefined;
  /** Address of a document that describes the client; servers that read such documents need no registration. */
  readonly clientMetadataUrl?: string;
  private readonly stateText = randomBytes(32).toString("base64url");

  /** `client`: registered by the operator; absent: svc registers itself. */
  constructor(file: string, redirect?: Redirect, client?: OAuthClient) {
    this.file = file;
    this.redirect = redirect;
    const { client_id: id, client_metadata_url: document } = client ?? {};
    if (id === undefined && document !== undefined) this.clientMetadataUrl = document;
    if (redirect !== undefined) this.begun = defined({ client: registeredClient(client) });
  }

  /** Servers insist on an address, also without a person. */
  get redirectUrl(): string {
    return this.redirect?.url ?? "http://127.0.0.1/callback";
  }

  get clientMetadata(): OAuthClientMetadata {
    return {
      client_name: "svc",
      redirect_uris: [this.redirectUrl],
      grant_types: ["authorization_code", "refresh_token"],
      response_types: ["code"],
      token_endpoint_auth_method: "none",
    };
  }

  state(): string {
    return this.stateText;
  }

  clientInformation(): StoredOAuthClientInformation | undefined {
    return this.kept().client;
  }

  get wantedScope(): string | undefined {
    return this.kept().wantedScope;
  }

  saveClientInformation(client: StoredOAuthClientInformation): void {
    const { client_id: id } = client;
    if (!isHeaderText(id)) throw new McpFailure("its registration has no client_id that can be sent");
    this.keep({ ...this.kept(), client });
  }

  tokens(): StoredOAuthTokens | undefined {
    return this.kept().tokens;
  }

  saveTokens(tokens: StoredOAuthTokens): void {
    const { client } = this.kept();
    const whole = { ...defined({ client }), tokens: checkedTokens(tokens) };
    this.begun = undefined;
    this.keep(whole);
  }

  /** Without a person the sign-in is over: the SDK throws, and `svc mcp login` begins a new one, with the scopes of this page. */
  redirectToAuthorization(page: URL): void {
    if (this.redirect !== undefined) {
      if (!isSafePage(page)) throw new McpFailure("its sign-in page is not at an https address");
      return this.redirect.open(page);
    }
    const wantedScope = page.searchParams.get("scope") ?? "";
    if (isScope(wantedScope) && wantedScope !== this.wantedScope) this.keep({ ...this.kept(), wantedScope });
  }

  saveCodeVerifier(verifier: string): void {
    this.verifier = verifier;
  }

  codeVerifier(): string {
    return this.verifier;
  }

  saveDiscoveryState(state: OAuthDiscoveryState): void {
    if (this.redirect !== undefined) checkMethods(state);
    this.discovered = state;
  }

  discoveryState(): OAuthDiscoveryState | undefined {
    return this.discovered;
  }

  invalidateCredentials(scope: "all" | "client" | "tokens" | "verifier" | "discovery"): void {
    const { client, tokens, wantedScope } = this.kept();
    if (scope === "all" || scope === "discovery") this.discovered = undefined;
    if (scope === "all" || scope === "client") this.keep(defined({ wantedScope }));
    else if (scope === "tokens" && tokens !== undefined) this.keep(defined({ client, wantedScope }));
  }

  private kept(): Kept {
    if (this.begun !== undefined) return this.begun;
    try {
      return JSON.parse(readFileSync(this.file, "utf8")) as Kept; // written by `keep`
    } catch {
      return {};
    }
  }

  private keep(kept: Kept): void {
    if (this.begun === undefined) writePrivateFile(this.file, `${JSON.stringify(kept)}\n`);
    else this.begun = kept;
  }
}

function registeredClient(client: OAuthClient | undefined): StoredOAuthClientInformation | undefined {
  const { client_id, client_secret } = client ?? {};
  return client_id === undefined ? undefined : { client_id, ...defined({ client_secret }) };
}

/** What a header can carry: visible ASCII, of limited length. */
function isHeaderText(text: unknown, charsMax = MCP_TOKEN_CHARS_MAX): boolean {
  return typeof text === "string" && text.length <= charsMax && /^[!-~]+$/.test(text);
}

function isScope(text: string): boolean {
  return text.length <= MCP_SCOPE_CHARS_MAX && /^[ -~]+$/.test(text);
}

/** Throws McpFailure for tokens that cannot be sent as a bearer's (RFC 6750). */
function checkedTokens(tokens: StoredOAuthTokens): StoredOAuthTokens {
  const { access_token: access, refresh_token: refresh, token_type: type, scope } = tokens;
  if (type.toLowerCase() !== "bearer") throw new McpFailure("its token is not of the type Bearer");
  if (!isHeaderText(access) || (refresh !== undefined && !isHeaderText(refresh)))
    throw new McpFailure(`its token is not visible ASCII of at most ${MCP_TOKEN_CHARS_MAX} characters`);
  if (scope !== undefined && scope !== "" && !isScope(scope))
    throw new McpFailure("its token has scopes that cannot be sent");
  return tokens;
}

/** The page opens in a person's browser: https, or http on this machine. */
function isSafePage({ protocol, hostname }: URL): boolean {
  const isHere = hostname === "localhost" || hostname === "[::1]" || /^127(\.\d+){3}$/.test(hostname);
  return protocol === "https:" || (protocol === "http:" && isHere);
}

/** MCP 2025-11-25: without the methods in its metadata a server does not support PKCE, and clients must refuse it. */
function checkMethods({ authorizationServerMetadata: metadata }: OAuthDiscoveryState): void {
  if (metadata === undefined || metadata.code_challenge_methods_supported?.includes("S256") === true) return;
  throw new McpFailure(
    "its metadata do not say that it supports PKCE with S256 (code_challenge_methods_supported)",
  );
}
