// GET /docs: the interactive page over the OpenAPI document. Its script and style are files of swagger-ui-dist that
// the build embeds into the executable, so that the page works without internet.

import { hash } from "node:crypto";
import { Elysia } from "elysia";
import script from "swagger-ui-dist/swagger-ui-bundle.js" with { type: "file" };
import style from "swagger-ui-dist/swagger-ui.css" with { type: "file" };
import { VERSION } from "../core/version.ts";
import { OPENAPI_PATH } from "./openapi.ts";

export const DOCS_PATH = "/docs";

/**
 * The assets' addresses carry the version, so a browser may keep them forever. Without an own `vary` they would
 * get the CORS plugin's `*`, which forbids reuse.
 */
const ASSET_HEADERS = { "cache-control": "public, max-age=31536000, immutable", vary: "origin" };
const HIDDEN = { detail: { hide: true } };

const START = `SwaggerUIBundle({ url: "${OPENAPI_PATH}", dom_id: "#ui", deepLinking: true, validatorUrl: null });`;

/**
 * What the page may do: run the bundle and the line that starts it, ask this server, and nothing else. The bundle writes style
 * attributes and has images in data URLs.
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  `script-src 'self' 'sha256-${hash("sha256", START, "base64")}'`,
  "style-src 'self' 'unsafe-inline'",
  "connect-src 'self'",
  "img-src 'self' data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join("; ");

const PAGE = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>svc API</title>
<link rel="icon" href="data:,">
<link rel="stylesheet" href="${DOCS_PATH}/swagger-ui.css?v=${VERSION}">
</head>
<body>
<div id="ui"></div>
<script src="${DOCS_PATH}/swagger-ui.js?v=${VERSION}"></script>
<script>${START}</script>
</body>
</html>
`;

/** The docs page and its assets. */
export function docsRoutes() {
  return new Elysia()
    .get(DOCS_PATH, () => html(PAGE), HIDDEN)
    .get(`${DOCS_PATH}/swagger-ui.js`, () => asset(script, "text/javascript; charset=utf-8"), HIDDEN)
    .get(`${DOCS_PATH}/swagger-ui.css`, () => asset(style, "text/css; charset=utf-8"), HIDDEN);
}

function html(page: string): Response {
  return new Response(page, {
    headers: {
      "content-type": "text/html; charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": CONTENT_SECURITY_POLICY,
      "x-content-type-options": "nosniff",
      "referrer-policy": "no-referrer",
    },
  });
}

/** A file of the executable, or of node_modules when run from source. */
function asset(path: string, type: string): Response {
  return new Response(Bun.file(path), { headers: { "content-type": type, ...ASSET_HEADERS } });
}
