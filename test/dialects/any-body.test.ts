// Properties of the request parsers of all dialects, for arbitrary bodies.

import { describe, expect, test } from "bun:test";
import type { TObject } from "@sinclair/typebox";
import fc from "fast-check";
import { ServiceError } from "../../src/core/error.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { ChatCompletionRequest } from "../../src/dialects/chat/schema.ts";
import { parseCompletionRequest } from "../../src/dialects/completions/request.ts";
import { CompletionRequest } from "../../src/dialects/completions/schema.ts";
import { parseInfillRequest } from "../../src/dialects/infill/request.ts";
import { InfillRequest } from "../../src/dialects/infill/schema.ts";
import { parseCountRequest, parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { MessagesRequest } from "../../src/dialects/messages/schema.ts";
import { parseEmbeddingRequest } from "../../src/dialects/embeddings/request.ts";
import { EmbeddingRequest } from "../../src/dialects/embeddings/schema.ts";
import { parseOllamaEmbed, parseOllamaEmbeddings } from "../../src/dialects/ollama/embed.ts";
import { parseOllamaShow } from "../../src/dialects/ollama/models.ts";
import { parseOllamaChat, parseOllamaGenerate } from "../../src/dialects/ollama/request.ts";
import {
  OllamaChatRequest,
  OllamaEmbeddingsRequest,
  OllamaEmbedRequest,
  OllamaGenerateRequest,
  OllamaShowRequest,
} from "../../src/dialects/ollama/schema.ts";
import { parseRerankRequest } from "../../src/dialects/rerank/request.ts";
import { RerankRequest } from "../../src/dialects/rerank/schema.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { ResponsesCreateRequest } from "../../src/dialects/responses/schema.ts";
import { chatBody, responsesBody, textBody } from "../helpers/app.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";
import type { Body } from "../helpers/rules.ts";

interface Endpoint {
  readonly schema: TObject;
  readonly parse: (body: Body) => unknown;
  readonly smallest: Body;
}

const ENDPOINTS: readonly (readonly [string, Endpoint])[] = [
  ["chat", { schema: ChatCompletionRequest, parse: parseChatRequest, smallest: chatBody() }],
  ["completions", { schema: CompletionRequest, parse: parseCompletionRequest, smallest: textBody() }],
  ["messages", { schema: MessagesRequest, parse: parseMessagesRequest, smallest: chatBody() }],
  ["count_tokens", { schema: MessagesRequest, parse: parseCountRequest, smallest: chatBody() }],
  [
    "responses",
    {
      schema: ResponsesCreateRequest,
      parse: (body) => parseResponsesRequest(body, NOTHING_STORED),
      smallest: responsesBody(),
    },
  ],
  ["ollama chat", { schema: OllamaChatRequest, parse: parseOllamaChat, smallest: {} }],
  ["ollama generate", { schema: OllamaGenerateRequest, parse: parseOllamaGenerate, smallest: {} }],
  ["ollama embed", { schema: OllamaEmbedRequest, parse: parseOllamaEmbed, smallest: { input: "a" } }],
  ["ollama embeddings", { schema: OllamaEmbeddingsRequest, parse: parseOllamaEmbeddings, smallest: {} }],
  ["ollama show", { schema: OllamaShowRequest, parse: parseOllamaShow, smallest: {} }],
  [
    "rerank",
    { schema: RerankRequest, parse: parseRerankRequest, smallest: { query: "a", documents: ["b"] } },
  ],
  [
    "infill",
    {
      schema: InfillRequest,
      parse: parseInfillRequest,
      smallest: { input_prefix: "a", input_suffix: "b" },
    },
  ],
  ["embeddings", { schema: EmbeddingRequest, parse: parseEmbeddingRequest, smallest: { input: "a" } }],
];

/** Values of valid bodies, so that random bodies reach deep into the schemas. */
const WORDS = [
  "text",
  "function",
  "json_schema",
  "regex",
  "llguidance",
  "user",
  "assistant",
  "auto",
  "any",
  "custom",
  "code_execution_20250825",
  "web_search_20250305",
  "tool_result",
  "document",
  "enabled",
  "{}",
  "a",
];
const KEYS = [
  "type",
  "function",
  "name",
  "role",
  "content",
  "value",
  "grammars",
  "schema",
  "mode",
  "tools",
  "source",
  "skills",
  "5",
];

const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { maxDepth: 5 },
    fc.constantFrom<unknown>(null, true, false, 0, 1, -1, 0.5, 1e9),
    fc.constantFrom(...WORDS),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(fc.constantFrom(...KEYS), tie("value"), { maxKeys: 4 }),
  ),
})).value;

describe.each(ENDPOINTS)("%s", (_, { schema, parse, smallest }) => {
  const fields = Object.keys(schema.properties);
  const required = new Set(schema.required);

  test.each(fields.filter((field) => !required.has(field)))("%s may be null, like absent", (field) => {
    expect(parse({ ...smallest, [field]: null })).toEqual(parse(smallest));
  });

  test("any body is accepted, or refused with an error that names a field", () => {
    const body = fc.dictionary(fc.constantFrom(...fields), anyValue, { maxKeys: 4 });
    fc.assert(
      fc.property(body, (extra) => {
        try {
          parse({ ...smallest, ...extra });
        } catch (error) {
          if (!(error instanceof ServiceError)) throw error;
          const field = error.param?.split(/[.[]/)[0] ?? "";
          expect(fields).toContain(field);
          expect(error.message).toContain(field);
          expect(error.message.length).toBeLessThan(300);
          expect(error.status).toBeOneOf([400, 404, 409]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  test("unknown fields are ignored", () => {
    const unknown = { ...smallest, x_new: { deep: [1] }, add_generation_prompt: true };
    expect(parse(unknown)).toEqual(parse(smallest));
  });
});
