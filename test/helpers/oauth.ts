// An MCP server whose tools need a sign-in by OAuth 2.1, with an authorization server at the same address that asks nobody.

import { createHash } from "node:crypto";
import { type HttpDemo, httpDemo } from "./mcp.ts";

export interface OAuthDemo extends HttpDemo {
  /** Access tokens are no longer valid. */
  expire(): void;
  /** Neither are refresh tokens. */
  revoke(): void;
  /** Grants by type, as they were asked for. */
  readonly grants: string[];
}

export interface OAuthDemoOptions {
  /** The person refuses. */
  readonly denies?: boolean;
}

export function oauthDemo({ denies = false }: OAuthDemoOptions = {}): OAuthDemo {
  const challenges = new Map<string, { readonly challenge: string | null; readonly redirect: string }>();
  const access = new Set<string>();
  const refresh = new Set<string>();
  const grants: string[] = [];
  const redirects = new Map<string, readonly string[]>(); // of clients

  const authorize = ({ searchParams: query }: URL): Response => {
    const redirect = query.get("redirect_uri") ?? "";
    if (redirects.get(query.get("client_id") ?? "")?.includes(redirect) !== true)
      return new Response("unknown client or address", { status: 400 });
    const back = new URL(redirect);
    back.searchParams.set("state", query.get("state") ?? "");
    if (denies) back.searchParams.set("error", "access_denied");
    else {
      const code = crypto.randomUUID();
      challenges.set(code, { challenge: query.get("code_challenge"), redirect });
      back.searchParams.set("code", code);
    }
    return Response.redirect(back.href, 302);
  };

  const grant = async (request: Request): Promise<Response> => {
    const form = new URLSearchParams(await request.text());
    const type = form.get("grant_type") ?? "";
    grants.push(type);
    if (!(type === "refresh_token" ? refresh.delete(form.get("refresh_token") ?? "") : isProven(form)))
      return Response.json({ error: "invalid_grant" }, { status: 400 });
    const tokens = { access_token: crypto.randomUUID(), refresh_token: crypto.randomUUID() };
    access.add(tokens.access_token);
    refresh.add(tokens.refresh_token);
    return Response.json({ ...tokens, token_type: "Bearer", expires_in: 3600 });
  };

  const isProven = (form: URLSearchParams): boolean => {
    const code = form.get("code") ?? "";
    const asked = challenges.get(code);
    challenges.delete(code);
    const verifier = createHash("sha256")
      .update(form.get("code_verifier") ?? "")
      .digest("base64url");
    return asked !== undefined && asked.challenge === verifier && asked.redirect === form.get("redirect_uri");
  };

  const guard = async (request: Request): Promise<Response | undefined> => {
    const url = new URL(request.url);
    switch (url.pathname) {
      case "/.well-known/oauth-protected-resource":
      case "/.well-known/oauth-protected-resource/mcp":
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
        if (token !== undefined && access.has(token)) return undefined;
        const metadata = `${url.origin}/.well-known/oauth-protected-resource/mcp`;
        const headers = { "www-authenticate": `Bearer resource_metadata="${metadata}"` };
        return new Response("sign in", { status: 401, headers });
      }
    }
  };

  const expire = (): void => access.clear();
  const revoke = (): void => {
    access.clear();
    refresh.clear();
  };
  return Object.assign(httpDemo({ guard }), { expire, revoke, grants });
}
