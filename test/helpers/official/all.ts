// The official clients by name, for suites that ask the same of all of them. Each is made with a server's address, which ends in /v1.

import { aiSdkClient, aiSdkMessagesClient, aiSdkResponsesClient } from "./ai-sdk.ts";
import { anthropicClient } from "./anthropic.ts";
import type { ChatClient, OfficialClient } from "./client.ts";
import { langChainClient } from "./langchain.ts";
import { openAiClient } from "./openai.ts";
import { responsesClient } from "./responses.ts";

/** Those that do all. */
export const OFFICIAL_CLIENTS: readonly (readonly [string, (baseUrl: string) => OfficialClient])[] = [
  ["openai", openAiClient],
  ["ai", aiSdkClient],
  ["langchain", langChainClient],
];

/** All that hold conversations, in each dialect that they speak. */
export const CHAT_CLIENTS: readonly (readonly [string, (baseUrl: string) => ChatClient])[] = [
  ...OFFICIAL_CLIENTS,
  ["openai Responses", responsesClient],
  ["ai Responses", aiSdkResponsesClient],
  ["anthropic", anthropicClient],
  ["ai Messages", aiSdkMessagesClient],
];
