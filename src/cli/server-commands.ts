// `svc ps`, `list`, `show`, `stop`, `pin` and `unpin`: query the models of a running server, unload one, keep one loaded.

import type { Settings } from "../config/settings.ts";
import { type FilePart, NO_TEMPLATE } from "./file-details.ts";
import { visibleLine } from "../core/visible-text.ts";
import { columns } from "./table.ts";
import { type MediaFormats, ServerClient, type ServedModel } from "./server-client.ts";
import { sizeText } from "../core/size-text.ts";

export type ServerCommand =
  | { readonly command: "ps" | "list"; readonly json: boolean }
  | { readonly command: "show"; readonly model: string; readonly json: boolean; readonly part: FilePart }
  | { readonly command: "stop"; readonly model: string }
  | { readonly command: "pin"; readonly model: string; readonly isPinned: boolean };

/** Carries a command out and returns what to print. Throws a sentence for people. */
export async function serverCommand(invocation: ServerCommand, settings: Settings): Promise<string> {
  const client = new ServerClient(settings.server);
  const models = await client.models();
  switch (invocation.command) {
    case "ps": {
      const loaded = models.filter(({ status, parent }) => status !== "unloaded" && parent === undefined);
      if (invocation.json) return asJson(loaded);
      return loaded.length === 0
        ? `No model is loaded at ${client.url}; the next request loads one. svc list shows all.\n`
        : modelTable(loaded);
    }
    case "list":
      return invocation.json ? asJson(models) : modelTable(models);
    case "show": {
      const model = named(models, invocation.model);
      return invocation.json ? asJson(model) : card(model);
    }
    case "stop": {
      const { id } = named(models, invocation.model);
      await client.json("/v1/models/unload", { model_id: id });
      return `${id} is unloaded; the next request for it loads it again.\n`;
    }
    case "pin": {
      const { id } = named(models, invocation.model);
      await client.json(`/v1/models/${invocation.isPinned ? "pin" : "unpin"}`, { model_id: id });
      return invocation.isPinned
        ? `${id} is pinned: it stays loaded until svc stop or the end of the server. pin = true in its [[models]] entry lasts.\n`
        : `${id} is no longer pinned: it is unloaded when idle or for another model.\n`;
    }
  }
}

function named(models: readonly ServedModel[], name: string): ServedModel {
  const [first] = models;
  if (name === "default" && first !== undefined) return first;
  const found = models.find(({ id }) => id === name) ?? models.find(({ root }) => root === name);
  if (found !== undefined) return found;
  throw new Error(`No model ${name} is served. Served: ${models.map(({ id }) => id).join(", ")}.`);
}

function modelTable(models: readonly ServedModel[]): string {
  const rows = models.map(({ id, kind, status, pinned, context_length: context, root, parent }) => [
    id,
    parent === undefined ? kind : "adapter",
    statusText(status, pinned),
    context === undefined ? "" : String(context),
    parent ?? root ?? "",
  ]);
  return columns([["NAME", "KIND", "STATUS", "CONTEXT", "SOURCE"], ...rows], (column) => column === 3);
}

function card({ id, capabilities = {}, modalities, ...rest }: ServedModel): string {
  const can = Object.entries(capabilities).flatMap(([name, isOn]) => (isOn ? [name] : []));
  const rows: [string, string][] = [
    ["name", id],
    ["kind", rest.parent === undefined ? rest.kind : `adapter of ${rest.parent}`],
    ["status", statusText(rest.status, rest.pinned)],
    ["context", rest.context_length === undefined ? "" : `${rest.context_length} tokens`],
    ["input", ["text", ...(modalities ?? [])].join(", ")],
    ...mediaRows(rest),
    ["can", can.join(", ")],
    ["family", visibleLine(rest.family ?? "")],
    ["parameters", rest.parameters === undefined ? "" : rest.parameters.toLocaleString("en")],
    ["quantization", rest.quantization ?? ""],
    ["licence", visibleLine(rest.license ?? "")],
    ["size on disk", rest.size_bytes === undefined ? "" : sizeText(rest.size_bytes)],
    ["in memory", memoryText(rest)],
    ["source", rest.root ?? ""],
    ["chat template", templateText(rest.chat_template)],
    ...presetRows(rest),
  ];
  return columns(rows.filter(([, value]) => value !== ""));
}

/** Formats and limits of each kind of media. */
function mediaRows({ media = {} }: Partial<ServedModel>): [string, string][] {
  const { image, audio, video } = media;
  return [
    ...(image === undefined ? [] : [mediaRow("images", image, `at most ${image.max_images} in a request`)]),
    ...(audio === undefined ? [] : [mediaRow("audio", audio, `the first ${audio.max_seconds} seconds`)]),
    ...(video === undefined ? [] : [mediaRow("videos", video, `${video.max_frames} frames of each`)]),
  ];
}

function mediaRow(
  name: string,
  { formats, formats_with_ffmpeg: others }: MediaFormats,
  bound: string,
): [string, string] {
  const withFfmpeg = others.length === 0 ? "" : `; with ffmpeg ${others.join(", ")}`;
  return [name, `${formats.join(", ")}${withFfmpeg}; ${bound}`];
}

/** What a model takes now, once it is loaded, and at most. */
function memoryText({ resident_bytes: now, memory_bytes: most }: Partial<ServedModel>): string {
  const atMost = most === undefined ? [] : [`about ${sizeText(most)} at most`];
  return [...(now === undefined ? [] : [`${sizeText(now)} now`]), ...atMost].join(", ");
}

/** Where the template is from, unless it is where it belongs. */
function templateText(source: string | undefined): string {
  if (source === "none") return NO_TEMPLATE;
  return source === "settings" ? "by the settings" : "";
}

/** Defaults of requests, each with whose word it is. */
function presetRows({ defaults = {}, defaults_from: from = {} }: Partial<ServedModel>): [string, string][] {
  return Object.entries(defaults).map(([field, value]) => {
    const source = from[field];
    return [field, `${String(value)}${source === undefined ? "" : ` (${source})`}`];
  });
}

function statusText(status: string, isPinned = false): string {
  return isPinned ? `${status}, pinned` : status;
}

function asJson(value: unknown): string {
  return `${JSON.stringify(value, null, 2)}\n`;
}
