// Client of a Python package index (simple repository API, PEP 503 and 691): finds the address of one file of a project.

import { Parser } from "htmlparser2";
import { reasonOf } from "../core/reason.ts";
import { StartError } from "../core/start-error.ts";
import { boundedText } from "../core/bounded-body.ts";
import { INDEX_ANSWER_MS, INDEX_BYTES_MAX } from "./limits.ts";

/** Address of an index, as pip takes it, and who has named it. */
export interface PackageIndex {
  readonly url: string;
  readonly source: "--index" | "PIP_INDEX_URL";
}

export interface WheelAddress {
  readonly url: string;
  /** Credentials of the index, where the file has its origin. */
  readonly authorization: string | undefined;
}

const ACCEPT =
  "application/vnd.pypi.simple.v1+json, application/vnd.pypi.simple.v1+html;q=0.2, text/html;q=0.1";

/** Asks the index for the address of a project's file. Throws StartError. */
export async function wheelUrl(
  { url: address, source }: PackageIndex,
  { project, version, file }: { readonly project: string; readonly version: string; readonly file: string },
): Promise<WheelAddress> {
  const base = URL.parse(address.replace(/\/*$/, "/"));
  if (base === null || !/^https?:$/.test(base.protocol))
    throw new StartError(`${source} is not the URL of a Python package index, https://…/simple.`);
  const authorization = credentials(base);
  const page = new URL(`${project}/`, base);
  const name = `the Python package index of ${source}`;
  let response: Response;
  let body: string;
  try {
    const headers = { accept: ACCEPT, ...(authorization === undefined ? {} : { authorization }) };
    response = await fetch(page, { headers, signal: AbortSignal.timeout(INDEX_ANSWER_MS) });
    body = await text(response);
  } catch (error) {
    throw new StartError(
      `${name} could not be reached: ${reasonOf(error)}. Check the address and the network.`,
      {
        cause: error,
      },
    );
  }
  if (!response.ok)
    throw new StartError(
      `${name} has no ${project}: it answered with status ${response.status}. Check the address.`,
    );
  const links = isJson(response) ? jsonLinks(body) : htmlLinks(body);
  const link = links.find((candidate) => candidate.name === file);
  const found = link === undefined ? null : URL.parse(link.url, response.url);
  if (found === null || !/^https?:$/.test(found.protocol))
    throw new StartError(`${name} has no ${file}. Name an index with ${project} ${version}.`);
  found.hash = "";
  return { url: found.href, authorization: found.origin === page.origin ? authorization : undefined };
}

/** Takes user and password out of a URL. */
function credentials(url: URL): string | undefined {
  const { username, password } = url;
  url.username = "";
  url.password = "";
  if (username === "" && password === "") return undefined;
  const pair = `${decodeURIComponent(username)}:${decodeURIComponent(password)}`;
  return `Basic ${Buffer.from(pair).toString("base64")}`;
}

function text({ body }: Response): Promise<string> {
  return boundedText(
    body,
    INDEX_BYTES_MAX,
    () => new Error(`its answer is longer than ${INDEX_BYTES_MAX} bytes`),
  );
}

interface Link {
  readonly name: string;
  readonly url: string;
}

function isJson(response: Response): boolean {
  return /\bjson\b/.test(response.headers.get("content-type") ?? "");
}

function jsonLinks(body: string): readonly Link[] {
  try {
    const { files } = JSON.parse(body) as { files?: readonly { filename?: unknown; url?: unknown }[] };
    return (files ?? []).map(({ filename, url }) => ({ name: String(filename), url: String(url) }));
  } catch {
    return [];
  }
}

function htmlLinks(body: string): readonly Link[] {
  const links: Link[] = [];
  let open: string | undefined; // address of the link whose text is read
  let name = "";
  const parser = new Parser({
    onopentag: (tag, { href }) => {
      if (tag !== "a") return;
      open = href;
      name = "";
    },
    ontext: (piece) => (name += piece),
    onclosetag: (tag) => {
      if (tag !== "a" || open === undefined) return;
      links.push({ name: name.trim(), url: open });
      open = undefined;
    },
  });
  parser.end(body);
  return links;
}
