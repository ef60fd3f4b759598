// Loads a projector of each type with random weights beside a tiny text model and sends it its kind of media through the executable:
// the answer has to end cleanly, and media of another kind has to be refused. The table in docs/models.md is of the same list.
// `--only NAMES` picks types. npm run test:projectors

import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { launchServer } from "../helpers/binary.ts";
import { checkered, tone } from "../helpers/drawn-media.ts";
import { postJson } from "../helpers/post.ts";
import { tinyWidePositions, tinyWithControls } from "../helpers/tiny-models.ts";
import type { Medium, ProjectorType } from "./parts.ts";
import { PROJECTOR_TYPES, writeProjectorType } from "./types.ts";

/** One of two images or sounds. */
function part(medium: Medium, isOther: boolean): object {
  if (medium === "image") {
    const image = isOther ? checkered(3, 48, 48) : checkered(8, 48, 48);
    return { type: "image_url", image_url: { url: `data:image/png;base64,${image.toString("base64")}` } };
  }
  const data = tone(isOther ? 2000 : 440, 1).toString("base64");
  return { type: "input_audio", input_audio: { data, format: "wav" } };
}

async function ask(
  url: string,
  medium: Medium,
  isOther = false,
): Promise<{ readonly status: number; readonly text: string }> {
  const messages = [
    { role: "user", content: [{ type: "text", text: "What is it?" }, part(medium, isOther)] },
  ];
  const response = await postJson(`${url}/v1/chat/completions`, {
    messages,
    max_tokens: 4,
    temperature: 0,
    enable_thinking: false,
    logprobs: true,
  });
  return { status: response.status, text: await response.text() };
}

function logprobsOf(answer: string): readonly number[] {
  return [...answer.matchAll(/"logprob":([^,}]+)/g)].map(([, value]) => Number(value));
}

/** A tiny text model that can see or hear through it. */
function modelOf({ isWide = false, controls = [] }: ProjectorType): string {
  if (isWide) return tinyWidePositions();
  return controls.length === 0 ? "svc-tiny" : tinyWithControls(controls);
}

/** What went wrong with a type; undefined where nothing did. */
async function problemOf(type: ProjectorType, folder: string): Promise<string | undefined> {
  const file = join(folder, `mmproj-${type.type}.gguf`);
  writeProjectorType(file, type);
  const model = modelOf(type);
  const server = await launchServer(["-m", model, "--mmproj", file, "--max-seq-len", "8192"]);
  try {
    const own = await ask(server.url, type.medium);
    if (own.status !== 200)
      return `${own.status} ${own.text} ${server
        .stderr()
        .split("\n")
        .filter((line) => !/^\s*(model|Serve)/.test(line))
        .slice(-14)
        .join(" | ")}`;
    if (!/"finish_reason":"(?:stop|length)"/.test(own.text)) return own.text;
    const other = await ask(server.url, type.medium === "image" ? "audio" : "image");
    if (other.status !== 400) return `the other kind of media: ${other.status} ${other.text}`;
    const again = await ask(server.url, type.medium);
    if (again.status !== 200) return `again: ${again.status} ${again.text}`;
    const chances = logprobsOf(own.text);
    if (chances.length === 0 || !chances.every(Number.isFinite)) return `no probabilities: ${own.text}`;
    const different = logprobsOf((await ask(server.url, type.medium, true)).text);
    return chances.join() === different.join() ? `a different ${type.medium} changes nothing` : undefined;
  } catch (error) {
    return `${String(error)} ${server.stderr().slice(-400)}`;
  } finally {
    await server.stop();
  }
}

const only = process.argv.indexOf("--only");
const names = only < 0 ? undefined : process.argv.slice(only + 1).flatMap((word) => word.split(","));
const folder = mkdtempSync(join(tmpdir(), "svc-projectors-"));
let failures = 0;
for (const type of PROJECTOR_TYPES) {
  if (names !== undefined && !names.includes(type.type)) continue;
  const problem = await problemOf(type, folder);
  const isExpected = (problem !== undefined) === (type.fails !== undefined);
  if (!isExpected) failures++;
  console.log(`${type.type}: ${problem ?? "ok"}${isExpected ? "" : " (NOT EXPECTED)"}`);
}
rmSync(folder, { recursive: true });
process.exitCode = failures === 0 ? 0 : 1;
