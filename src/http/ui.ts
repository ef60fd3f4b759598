// GET /ui/: the web interface. It is made of plain files and talks to the same API as every other client, so all that
// happens here is that they are found and sent, with headers that let the page do nothing but that.

import { basename } from "node:path";
import { Elysia } from "elysia";
import { ServiceError } from "../core/error.ts";
import { PREVIEW_HTML, PREVIEW_PAGE, previewPolicy } from "./preview-page.ts";
import { READER_FILE, UI_FOLDER, uiBundle } from "./ui-bundle.ts";

const UI_PATH = "/ui";

const PAGE = "index.html";
/** The icon's name in the manifest, which the bundler does not rewrite. */
const ICON = "icon.svg";
/** Files whose names stay the same. */
const FIXED: ReadonlySet<string> = new Set([PAGE, ICON, READER_FILE]);
const HASHED_ICON = /^icon-\w+\.svg$/;
const HIDDEN = { detail: { hide: true } };

/**
 * What the page may do: run its own script and style, talk to this server, show and play what it holds. Nothing inline,
 * nothing from elsewhere, no text that becomes script or markup, and no foreign frame around it. `svc-worker` starts workers from
 * files of the page (ui/documents/worker.ts).
 */
const CONTENT_SECURITY_POLICY = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "connect-src 'self'",
  "frame-src 'self'",
  "img-src 'self' data: blob:",
  "media-src data: blob:",
  "font-src 'self'",
  "manifest-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
  "require-trusted-types-for 'script'",
  "trusted-types svc-worker",
].join("; ");

const SECURITY_HEADERS = {
  "content-security-policy": CONTENT_SECURITY_POLICY,
  "x-content-type-options": "nosniff",
  "referrer-policy": "no-referrer",
};

interface UiFile {
  readonly type: string;
  readonly bytes: Uint8Array<ArrayBuffer>;
  /** Made at the first visit that needs it: some files are large, and few pages load them. */
  readonly gzipped: () => Uint8Array<ArrayBuffer>;
}

type UiFiles = ReadonlyMap<string, UiFile>;

let files: Promise<UiFiles> | undefined; // read at the first visit: most servers never get one

/** The pages and their files. */
export function uiRoutes() {
  const send = async (name: string, request: Request): Promise<Response> => {
    const all = await (files ??= readFiles());
    const file = all.get(name === ICON ? ([...all.keys()].find((one) => HASHED_ICON.test(one)) ?? "") : name);
    if (file === undefined)
      throw new ServiceError("route_not_found", `the web interface has no file ${name}`);
    return answer(file, FIXED.has(name), request);
  };
  return new Elysia()
    .get(
      UI_PATH, // with a slash at its end or without
      ({ request }) => (new URL(request.url).pathname === UI_PATH ? toFolder() : send(PAGE, request)),
      HIDDEN,
    )
    .get(`${UI_PATH}/${PREVIEW_PAGE}`, ({ request }) => preview(new URL(request.url).search), HIDDEN)
    .get(`${UI_PATH}/:file`, ({ request, params }) => send(params.file, request), HIDDEN);
}

/** The page's own addresses are relative. So is this one, for proxies that add a prefix. */
function toFolder(): Response {
  return new Response(null, { status: 308, headers: { location: "ui/" } });
}

function preview(search: string): Response {
  return new Response(PREVIEW_HTML, {
    headers: {
      ...SECURITY_HEADERS,
      "content-type": "text/html;charset=utf-8",
      "cache-control": "no-cache",
      "content-security-policy": previewPolicy(search === "?scripts"),
      "x-dns-prefetch-control": "off",
    },
  });
}

function answer({ type, bytes, gzipped }: UiFile, isFixed: boolean, request: Request): Response {
  const isGzipped = /\bgzip\b/.test(request.headers.get("accept-encoding") ?? "");
  return new Response(isGzipped ? gzipped() : bytes, {
    headers: {
      "content-type": type,
      // Names of files carry a hash; those of the page, its worker and the icon are fixed.
      "cache-control": isFixed ? "no-cache" : "public, max-age=31536000, immutable",
      vary: "accept-encoding",
      ...(isGzipped ? { "content-encoding": "gzip" } : {}),
      ...SECURITY_HEADERS,
    },
  });
}

async function readFiles(): Promise<UiFiles> {
  const prefix = `${UI_FOLDER}/`;
  const embedded = Bun.embeddedFiles.filter((file) => nameOf(file).startsWith(prefix));
  const found =
    embedded.length > 0
      ? embedded.map((file) => [nameOf(file).slice(prefix.length), file] as const)
      : (await Bun.build(uiBundle())).outputs.map((file) => [basename(file.path), file] as const);
  const read = found.map(async ([name, file]) => {
    const bytes = new Uint8Array(await file.arrayBuffer());
    let packed: Uint8Array<ArrayBuffer> | undefined;
    return [name, { type: file.type, bytes, gzipped: () => (packed ??= Bun.gzipSync(bytes)) }] as const;
  });
  return new Map(await Promise.all(read));
}

/** Embedded files have a name, which their type does not know of. */
function nameOf(file: Blob): string {
  return "name" in file && typeof file.name === "string" ? file.name : "";
}
