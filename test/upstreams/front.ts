// svc in front of upstreams of a test file, and clients of it.

import Anthropic from "@anthropic-ai/sdk";
import { join } from "node:path";
import OpenAI from "openai";
import type { SystemInfo, SystemUpstream } from "../../src/core/system.ts";
import { launchServer, newFolder } from "../helpers/binary.ts";
import { stopLater } from "./programs.ts";

/** A model on upstream servers, as TOML; values are strings and numbers. */
export function entry(
  id: string,
  upstreams: readonly Readonly<Record<string, string | number>>[],
  more = "",
): string {
  const lists = upstreams.map((upstream) => {
    const lines = Object.entries(upstream).map(([key, value]) => `${key} = ${JSON.stringify(value)}`);
    return `[[models.upstreams]]\n${lines.join("\n")}\n`;
  });
  return `[[models]]\nmodel_id = "${id}"\nkind = "upstream"\n${more}${lists.join("")}`;
}

export interface Front {
  readonly url: string;
  readonly openAi: OpenAI;
  readonly anthropic: Anthropic;
  upstreams(model: string): Promise<readonly SystemUpstream[]>;
}

/** Starts svc with these models. stopAll ends it. */
export async function startFront(entries: readonly string[]): Promise<Front> {
  const file = join(newFolder(), "front.toml");
  await Bun.write(file, entries.join("\n"));
  const server = await launchServer([file]);
  stopLater(() => server.stop());
  const { url } = server;
  return {
    url,
    openAi: new OpenAI({ apiKey: "any", baseURL: `${url}/v1`, maxRetries: 0 }),
    anthropic: new Anthropic({ apiKey: "any", baseURL: url, maxRetries: 0 }),
    upstreams: async (model) => {
      const info = (await (await fetch(`${url}/v1/system/info`)).json()) as SystemInfo;
      return info.models.find(({ id }) => id === model)?.upstreams ?? [];
    },
  };
}
