// An MCP server whose tools need a sign-in by OAuth 2.1, with an authorization server at the same address that asks nobody.

import { hash } from "node:crypto";
import { type HttpDemo, httpDemo } from "./mcp.ts";

export interface OAuthDemo extends HttpDemo {
  /** Access tokens are no longer valid. */
  expire(): void;
  /** Neither are refresh tokens. */
  revoke(): void;
  /** Grants by type, as they were asked for. */
  readonly grants: string[];
  /** Secrets of clients that asked for tokens. */
  readonly secrets: (string | undefined)[];
  /** Scopes that sign-in pages were opened with. */
  readonly scopes: (string | null)[];
}

const WELL_KNOWN = "/.well-known/oauth-protected-resource/mcp";

export interface OAuthDemoOptions {
  /** The person refuses, in these words. */
  readonly denies?: boolean | string;
  /** Path of the metadata of the tools, which the refusal of a request names; default: the well-known one. */
  readonly metadataPath?: string;
  /** Scope that the refusal of a request names. */
  readonly scope?: string;
  /** Scope that calls of tools need. */
  readonly callScope?: string;
  /** Fields of the authorization server's metadata, and of its answers with tokens, in place of the usual ones. */
  /** Ids of clients that are known without a registration, with any address to lead back to. */
  readonly clients?: readonly string[];
  readonly metadata?: Readonly<Record<string, unknown>>;
  readonly tokens?: Readonly<Record<string, unknown>>;
}

export function oauthDemo(options: OAuthDemoOptions = {}): OAuthDemo {
  const { denies = false, metadataPath = WELL_KNOWN, scope, callScope } = options;
  const scopes: (string | null)[] = [];
  const challenges = new Map<string, { readonly challenge: string | null; readonly redirect: string }>();
  const access = new Set<string>();
  const refresh = new Set<string>();
  const grants: string[] = [];
  const secrets: (string | undefined)[] = [];
  const redirects = new Map<string, readonly string[]>(); // of clients

  const authorize = ({ searchParams: query }: URL): Response => {
    const redirect = query.get("redirect_uri") ?? "";
    const client = query.get("client_id") ?? "";
    const isKnown = options.clients?.includes(client) ?? false;
    if (!isKnown && redirects.get(client)?.includes(redirect) !== true)
      return new Response("unknown client or address", { status: 400 });
    const back = new URL(redirect);
    back.searchParams.set("state", query.get("state") ?? "");
    scopes.push(query.get("scope"));
    if (denies !== false) back.searchParams.set("error", "access_denied");
    if (typeof denies === "string") back.searchParams.set("error_description", denies);
    if (denies !== false) return Response.redirect(back.href, 302);
    const code = crypto.randomUUID();
    challenges.set(code, { challenge: query.get("code_challenge"), redirect });
    back.searchParams.set("code", code);
    return Response.redirect(back.href, 302);
  };

  const grant = async (request: Request): Promise<Response> => {
    const form = new URLSearchParams(await request.text());
    const type = form.get("grant_type") ?? "";
    grants.push(type);
    const secret = /^Basic (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
    secrets.push(form.get("client_secret") ?? (secret === undefined ? undefined : atob(secret)));
    if (!(type === "refresh_token" ? refresh.delete(form.get("refresh_token") ?? "") : isProven(form)))
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    const tokens = { access_token: crypto.randomUUID(), refresh_token: crypto.randomUUID() };
    access.add(tokens.access_token);
    refresh.add(tokens.refresh_token);
    const granted = scopes.at(-1) ?? undefined;
    return Response.json({
      ...tokens,
      token_type: "Bearer",
      expires_in: 3600,
      scope: granted,
      ...options.tokens,
    });
  };

  const isProven = (form: URLSearchParams): boolean => {
    const code = form.get("code") ?? "";
    const asked = challenges.get(code);
    challenges.delete(code);
    const verifier = hash("sha256", form.get("code_verifier") ?? "", "base64url");
    return asked !== undefined && asked.challenge === verifier && asked.redirect === form.get("redirect_uri");
  };

  const guard = async (request: Request): Promise<Response | undefined> => {
    const url = new URL(request.url);
    switch (url.pathname) {
      case metadataPath:
        return Response.json({ resource: `${url.origin}/mcp`, authorization_servers: [url.origin] });
      case "/.well-known/oauth-authorization-server":
        return Response.json({
          issuer: url.origin,
          authorization_endpoint: `${url.origin}/authorize`,
          token_endpoint: `${url.origin}/token`,
          registration_endpoint: `${url.origin}/register`,
          response_types_supported: ["code"],
          code_challenge_methods_supported: ["S256"],
          token_endpoint_auth_methods_supported: ["none"],
          ...options.metadata,
        });
      case "/register": {
        const client = (await request.json()) as { redirect_uris: readonly string[] };
        const id = crypto.randomUUID();
        redirects.set(id, client.redirect_uris);
        return Response.json({ ...client, client_id: id }, { status: 201 });
      }
      case "/authorize":
        return authorize(url);
      case "/token":
        return grant(request);
      default: {
        const token = /^Bearer (.+)$/.exec(request.headers.get("authorization") ?? "")?.[1];
        const challenge = (words: string): Record<string, string> => ({
          "www-authenticate": `Bearer ${words}resource_metadata="${url.origin}${metadataPath}"`,
        });
        if (token === undefined || !access.has(token)) {
          const headers = challenge(scope === undefined ? "" : `scope="${scope}", `);
          return new Response("sign in", { status: 401, headers });
        }
        const isEnough = callScope === undefined || (scopes.at(-1) ?? "").split(" ").includes(callScope);
        if (isEnough || !(await request.clone().text()).includes("tools/call")) return undefined;
        const headers = challenge(`error="insufficient_scope", scope="${callScope}", `);
        return new Response("more rights", { status: 403, headers });
      }
    }
  };

  const expire = (): void => access.clear();
  const revoke = (): void => {
    access.clear();
    refresh.clear();
  };
  return Object.assign(httpDemo({ guard }), { expire, revoke, grants, scopes, secrets });
}
