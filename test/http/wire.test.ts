// Bodies as real clients sent them (test/clients writes them, texts redacted): none may be refused under
// `compat = clients`, and what the strict mode refuses of them is known.

import { describe, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { modelAliases } from "../../src/http/model-alias.ts";
import type { RunRequest } from "../../src/core/run.ts";
import { testApp } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";

interface Sent {
  readonly path: string;
  readonly body: Readonly<Record<string, unknown>>;
}

const FOLDER = new URL("../fixtures/wire/", import.meta.url);
const CLIENTS = readdirSync(FOLDER).map((file): readonly [string, readonly Sent[]] => [
  file.replace(".json", ""),
  JSON.parse(readFileSync(new URL(file, FOLDER), "utf8")),
]);
/** What needs no text model. */
const NO_TALK = /files$|show$|embed/;
const ALIASES = modelAliases(["claude-*", "svc-*"].map((name) => ({ name, model: "tiny" })));

/** Conversations without the response that they go on from, which is stored nowhere here. */
function standingAlone(body: Sent["body"]): Sent["body"] {
  return { ...body, previous_response_id: null };
}

async function replay(mode: "strict" | "clients", { path, body }: Sent) {
  const { generate, requests } = playing(answer("{}"));
  const { post } = testApp(generate, { compat: { mode, hosted: new Set() }, aliases: ALIASES });
  const response = await post(path, standingAlone(body));
  return { status: response.status, text: await response.text(), run: requests[0] };
}

function toolsOf(run: RunRequest | undefined): readonly string[] {
  return run?.prompt.type === "chat" ? run.prompt.tools.map(({ name }) => name) : [];
}

const sent = CLIENTS.flatMap(([client, bodies]) =>
  bodies.filter(({ path }) => !NO_TALK.test(path)).map((one) => ({ client, ...one })),
);

describe("clients serves what they send", () => {
  test.each(sent)("$client: $path", async (one) => {
    const { status, text, run } = await replay("clients", one);
    expect(status, text.slice(0, 500)).toBe(200);
    const { tools } = one.body;
    if (Array.isArray(tools) && tools.length > 0) expect(toolsOf(run).length).toBeGreaterThan(0);
  });
});

test("strict refuses some of it, by the name of the setting", async () => {
  const refused = new Set<string>();
  for (const one of sent) {
    const { status, text } = await replay("strict", one);
    if (status === 200) continue;
    expect(text).toContain("--compat clients");
    refused.add(one.client);
  }
  expect([...refused].sort()).toEqual(["codex", "instructor", "openai"]);
});
