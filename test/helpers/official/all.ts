// The official clients by name, for suites that ask the same of all of them.

import { aiSdkClient } from "./ai-sdk.ts";
import type { OfficialClient } from "./client.ts";
import { langChainClient } from "./langchain.ts";
import { openAiClient } from "./openai.ts";

/** Name → the client of a server's address, which ends in /v1. */
export const OFFICIAL_CLIENTS: readonly (readonly [string, (baseUrl: string) => OfficialClient])[] = [
  ["openai", openAiClient],
  ["ai", aiSdkClient],
  ["langchain", langChainClient],
];
