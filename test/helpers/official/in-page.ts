// The official SDKs as a page loads them: the entry of a bundle.

import Anthropic from "@anthropic-ai/sdk";
import OpenAI from "openai";

/** What the page has of them. */
export interface PageSdks {
  readonly OpenAI: typeof OpenAI;
  readonly Anthropic: typeof Anthropic;
}

Object.assign(globalThis, { OpenAI, Anthropic } satisfies PageSdks);
