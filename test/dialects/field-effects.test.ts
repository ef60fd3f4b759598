// No field of a request is dropped in silence: what a schema accepts changes what the dialect makes of a request, is refused by name, or
// its description says that it has no effect.

import { expect, test } from "bun:test";
import { type TObject, type TSchema, KindGuard } from "@sinclair/typebox";
import { isDeepStrictEqual } from "node:util";
import { HOSTED_TOOLS, type Compat } from "../../src/core/compat.ts";
import { ServiceError } from "../../src/core/error.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { ChatCompletionRequest } from "../../src/dialects/chat/schema.ts";
import { parseCompletionRequest } from "../../src/dialects/completions/request.ts";
import { CompletionRequest } from "../../src/dialects/completions/schema.ts";
import { parseEmbeddingRequest } from "../../src/dialects/embeddings/request.ts";
import { EmbeddingRequest } from "../../src/dialects/embeddings/schema.ts";
import { parseImageRequest } from "../../src/dialects/images/request.ts";
import { ImageGenerationRequest } from "../../src/dialects/images/schema.ts";
import { parseInfillRequest } from "../../src/dialects/infill/request.ts";
import { InfillRequest } from "../../src/dialects/infill/schema.ts";
import { parseMessagesRequest } from "../../src/dialects/messages/request.ts";
import { MessagesRequest } from "../../src/dialects/messages/schema.ts";
import { parseOllamaEmbed, parseOllamaEmbeddings } from "../../src/dialects/ollama/embed.ts";
import { parseOllamaChat, parseOllamaGenerate } from "../../src/dialects/ollama/request.ts";
import * as ollama from "../../src/dialects/ollama/schema.ts";
import { parseRerankRequest } from "../../src/dialects/rerank/request.ts";
import { RerankRequest } from "../../src/dialects/rerank/schema.ts";
import { parseResponsesRequest } from "../../src/dialects/responses/request.ts";
import { ResponsesCreateRequest } from "../../src/dialects/responses/schema.ts";
import { NOTHING_STORED } from "../helpers/response-head.ts";
import { parseSpeechRequest } from "../../src/dialects/speech/request.ts";
import { SpeechGenerationRequest } from "../../src/dialects/speech/schema.ts";

type Json = Readonly<Record<string, unknown>>;

/** A field of a body, and bodies that differ in it alone. */
interface Case {
  readonly path: string;
  readonly schema: TSchema;
  readonly bodies: readonly unknown[];
}

const isNull = (schema: TSchema): boolean => schema["type"] === "null";

/** Some values of a schema. */
function samples(schema: TSchema): readonly unknown[] {
  if (KindGuard.IsUnion(schema)) return schema.anyOf.filter((one) => !isNull(one)).flatMap(samples);

  if (KindGuard.IsLiteral(schema)) return [schema.const];
  if (KindGuard.IsBoolean(schema)) return [true, false];
  if (KindGuard.IsInteger(schema) || KindGuard.IsNumber(schema)) {
    const least = schema["minimum"] ?? schema["exclusiveMinimum"] ?? 0;
    return [least + 1, least, least + 2, schema["maximum"] ?? 7];
  }
  if (KindGuard.IsString(schema)) return STRINGS;
  if (KindGuard.IsArray(schema))
    return samples(schema.items)
      .slice(0, 3)
      .map((one) => [one]);
  if (KindGuard.IsObject(schema)) return [least(schema)];
  if (KindGuard.IsRecord(schema)) return [{ "1": 1 }, { a: "b" }];
  return [{ type: "object", properties: { a: { type: "string" } } }, "x"];
}

const STRINGS = [
  "alpha",
  "beta",
  "aGk=",
  "2026-01-01",
  "https://example.org/a.png",
  "data:image/png;base64,aGk=",
  "resp_a",
  "{}",
];

function least(schema: TObject): Json {
  const wanted = schema.required ?? [];
  return Object.fromEntries(
    wanted.map((name) => [name, samples(schema.properties[name] ?? ({} as TSchema))[0]]),
  );
}

/** Every field of a schema and of what is in it. */
function casesOf(schema: TSchema): readonly Case[] {
  if (KindGuard.IsUnion(schema))
    return schema.anyOf.flatMap((one, index) =>
      casesOf(one).map((c) => ({ ...c, path: `<${labelOf(one, index)}>${c.path}` })),
    );
  if (KindGuard.IsArray(schema))
    return casesOf(schema.items).map(({ path, bodies, ...rest }) => ({
      ...rest,
      path: `[]${path}`,
      bodies: bodies.map((one) => [one]),
    }));
  if (!KindGuard.IsObject(schema)) return [];
  const base = least(schema);
  return Object.entries(schema.properties).flatMap(([name, property]) => {
    if (labelOf(schema, 0) === property["const"] && property["const"] !== undefined) return [];
    const own = {
      path: `.${name}`,
      schema: property,
      bodies: [
        ...(schema.required?.includes(name) ? [] : [base]),
        ...samples(property).map((value) => ({ ...base, [name]: value })),
      ],
    };
    const inner = casesOf(property).map(({ path, bodies, ...rest }) => ({
      ...rest,
      path: `.${name}${path}`,
      bodies: bodies.map((value) => ({ ...base, [name]: value })),
    }));
    return [own, ...inner];
  });
}

function labelOf(schema: TSchema, index: number): string {
  const type: unknown = (schema as TObject).properties?.["type"]?.["const"];
  return typeof type === "string" ? type : String(index);
}

const noted: string[] = [];
const compat: Compat = {
  mode: "clients",
  hosted: new Set(HOSTED_TOOLS),
  note: (kind, what) => void (kind === "unknown_field" && noted.push(String(what))),
};

interface Subject {
  readonly name: string;
  readonly schema: TSchema;
  readonly parse: (json: Json) => unknown;
  readonly bases: readonly Json[];
}

const fn = { type: "function", function: { name: "look", parameters: { type: "object", properties: {} } } };
const hi = [{ role: "user", content: "hi" }];
const SUBJECTS: readonly Subject[] = [
  {
    name: "chat",
    schema: ChatCompletionRequest,
    parse: (j) => parseChatRequest(j, compat),
    bases: [
      { messages: hi },
      { messages: hi, tools: [fn], logprobs: true, stream: true, web_search_options: {} },
    ],
  },
  {
    name: "completions",
    schema: CompletionRequest,
    parse: (j) => parseCompletionRequest(j, compat),
    bases: [{ prompt: "a" }, { prompt: "a", stream: true }],
  },
  {
    name: "responses",
    schema: ResponsesCreateRequest,
    parse: (j) => parseResponsesRequest(j, NOTHING_STORED, compat),
    bases: [{ input: "hi" }, { input: "hi", tools: [{ type: "function", name: "look" }], stream: true }],
  },
  {
    name: "messages",
    schema: MessagesRequest,
    parse: (j) => parseMessagesRequest(j, compat),
    bases: [
      { messages: hi, max_tokens: 9 },
      {
        messages: hi,
        max_tokens: 9,
        tools: [{ name: "look", input_schema: { type: "object" } }],
        stream: true,
        web_search_options: {},
      },
    ],
  },
  {
    name: "ollama chat",
    schema: ollama.OllamaChatRequest,
    parse: (j) => parseOllamaChat(j, compat),
    bases: [{ model: "a", messages: hi }],
  },
  {
    name: "ollama generate",
    schema: ollama.OllamaGenerateRequest,
    parse: (j) => parseOllamaGenerate(j, compat),
    bases: [{ model: "a", prompt: "hi" }],
  },
  {
    name: "ollama embed",
    schema: ollama.OllamaEmbedRequest,
    parse: (j) => parseOllamaEmbed(j, compat),
    bases: [{ model: "a", input: "hi" }],
  },
  {
    name: "ollama embeddings",
    schema: ollama.OllamaEmbeddingsRequest,
    parse: (j) => parseOllamaEmbeddings(j, compat),
    bases: [{ model: "a", prompt: "hi" }],
  },
  {
    name: "infill",
    schema: InfillRequest,
    parse: (j) => parseInfillRequest(j, compat),
    bases: [{ input_prefix: "a", input_suffix: "b" }],
  },
  {
    name: "embeddings",
    schema: EmbeddingRequest,
    parse: (j) => parseEmbeddingRequest(j, compat),
    bases: [{ input: "a" }],
  },
  {
    name: "rerank",
    schema: RerankRequest,
    parse: (j) => parseRerankRequest(j, compat),
    bases: [{ query: "a", documents: ["b"] }],
  },
  {
    name: "images",
    schema: ImageGenerationRequest,
    parse: (j) => parseImageRequest(j, compat),
    bases: [{ prompt: "a" }],
  },
  {
    name: "speech",
    schema: SpeechGenerationRequest,
    parse: (j) => parseSpeechRequest(j, compat),
    bases: [{ input: "a" }],
  },
];

const innerOf = (schema: TSchema): TSchema =>
  KindGuard.IsUnion(schema) ? innerOf(schema.anyOf[0] as TSchema) : schema;
function textOf(schema: TSchema): string {
  return [schema["description"] ?? "", ...(KindGuard.IsUnion(schema) ? schema.anyOf.map(textOf) : [])]
    .join(" ")
    .trim();
}

/** Words of a description that says so. */
const WITHOUT_EFFECT =
  /without effect|does not affect|no effect|ignored|absent in this form|not supported|nothing changes|for the client's own use|detected from the bytes|the one format|not streamed|only supported value/i;

/** Fields that mean nothing alone, or only in another body than these; other tests have them. */
const ELSEWHERE: readonly RegExp[] = [
  /^\.summary_model$/, // of conversations that are compacted
  /role$/, // of a message that is one of its kind
  /media_type$/, // read from the bytes
  /thinking<\d><\d>\.display$/, // of Messages
  /options<0>\.(?!num_ctx)\w+$/, // of texts that are embedded
  /<namespace>|shell_call_output|tool_choice<0>\.name$|^\.messages$/,
  /messages<0>\[\]\.(?:thinking|tool_\w+)/, // of other roles
  /\[\]<8>\.type$/,
];

const isObject = (schema: TSchema): boolean => KindGuard.IsObject(innerOf(schema));

/** Whether bodies that differ in a field alone come to different requests, or are refused. */
function hasEffect({ parse, bases }: Subject, { bodies }: Case): boolean {
  return bases.some((base) => {
    const made = bodies.map((body) => {
      try {
        return JSON.parse(JSON.stringify(parse({ ...base, ...(body as Json) }))) as unknown;
      } catch (error) {
        if (error instanceof ServiceError) return error.code;
        throw error;
      }
    });
    return (
      made.some((one) => !isDeepStrictEqual(one, made[0])) || made.every((one) => typeof one === "string")
    );
  });
}

test.each(SUBJECTS)("every field of $name has an effect, or says that it has none", (subject) => {
  noted.length = 0;
  const silent = casesOf(subject.schema)
    .filter(({ path, schema }) => {
      const isSaid = isObject(schema) || WITHOUT_EFFECT.test(textOf(schema));
      return !isSaid && !ELSEWHERE.some((one) => one.test(path));
    })
    .filter((one) => !hasEffect(subject, one))
    .map(({ path }) => path);
  expect(silent).toEqual([]);
  expect(noted).toEqual([]); // what a schema knows is never named as unknown
});

test.each(SUBJECTS)("unknown fields of $name are accepted and named", ({ parse, bases: [base = {}] }) => {
  noted.length = 0;
  parse({ ...base, brand_new: { a: 1 }, unset: null, empty: [], none: {} });
  expect(noted).toEqual(["brand_new"]);
});

test("what an answer has for its own server is not named, nor names that all objects have taken for known", () => {
  noted.length = 0;
  const thought = { type: "reasoning", id: "rs_1", status: "completed", summary: [], encrypted_content: "x" };
  const content = [{ type: "reasoning_text", text: "hm" }];
  const call = {
    type: "function_call",
    id: "fc_1",
    call_id: "c",
    name: "look",
    arguments: "{}",
    status: "completed",
  };
  const output = { type: "function_call_output", call_id: "c", output: "seen" };
  parseResponsesRequest({ input: [...hi, { ...thought, content }, call, output] }, NOTHING_STORED, compat);
  expect(noted).toEqual([]);
  parseChatRequest(
    { messages: [...hi, { role: "assistant", content: "a", refusal: 7 }], toString: 1 },
    compat,
  );
  expect(noted.toSorted()).toEqual(["messages.refusal", "toString"]);
});

test("unknown fields are named at every depth, once, and not without end", () => {
  noted.length = 0;
  const message = { role: "user", content: [{ type: "text", text: "hi", mood: "good" }], mood: "good" };
  const tool = { type: "function", function: { name: "look", returns: { type: "string" } } };
  parseChatRequest({ messages: [message, message], tools: [tool] }, compat);
  expect(noted.toSorted()).toEqual(["messages.content.mood", "messages.mood", "tools.function.returns"]);
  noted.length = 0;
  parseChatRequest(
    { messages: hi, ...Object.fromEntries(Array.from({ length: 99 }, (_, i) => [`f${i}`, 1])) },
    compat,
  );
  expect(noted).toHaveLength(16);
});

const REASONS: readonly Json[] = [
  { reasoning_content: "because" },
  { reasoning: "because" },
  { thinking: "because" },
  {
    reasoning_details: [
      { type: "reasoning.text", text: "because" },
      { type: "reasoning.encrypted", data: "x" },
    ],
  },
  {
    thinking_blocks: [
      { type: "thinking", thinking: "be" },
      { type: "thinking", thinking: "cause" },
    ],
  },
  {
    content: [
      { type: "thinking", thinking: [{ type: "text", text: "because" }] },
      { type: "text", text: "so" },
    ],
  },
];

test.each(REASONS)("an earlier answer keeps its reasoning in the form %p", (form) => {
  noted.length = 0;
  const said = { role: "assistant", content: "so", ...form };
  const { run } = parseChatRequest({ messages: [...hi, said, ...hi] }, compat);
  const [, answer] = run.prompt.messages;
  expect(answer).toEqual({
    role: "assistant",
    content: [{ type: "text", text: "so" }],
    reasoning: "because",
  });
  expect(noted).toEqual([]);
});

test("an earlier refusal reaches the prompt, once", () => {
  const textsOf = (said: Json) => {
    const { run } = parseChatRequest({ messages: [...hi, { role: "assistant", ...said }, ...hi] }, compat);
    return run.prompt.messages[1]?.content.map((part) => (part.type === "text" ? part.text : ""));
  };
  const part = { type: "refusal", refusal: "no" };
  expect(textsOf({ content: null, refusal: "no" })).toEqual(["no"]);
  expect(textsOf({ content: "well", refusal: "no" })).toEqual(["well", "no"]);
  expect(textsOf({ content: [part], refusal: "no" })).toEqual(["no"]);
});

test("examples of arguments follow the description of a tool, in every dialect that has tools", () => {
  const more = { description: "Looks.", input_examples: [{ at: "sea" }, { at: "sky" }] };
  const schema = { type: "object", properties: { at: { type: "string" } } };
  const flat = { name: "look", ...more, parameters: schema };
  const nested = [{ type: "function", function: flat }];
  const made = [
    parseChatRequest({ messages: hi, tools: nested }, compat).run,
    parseResponsesRequest({ input: "hi", tools: [{ type: "function", ...flat }] }, NOTHING_STORED, compat)
      .run,
    parseMessagesRequest({ messages: hi, tools: [{ name: "look", ...more, input_schema: schema }] }, compat)
      .run,
  ];
  const described = 'Looks.\n\nExamples of arguments:\n{"at":"sea"}\n{"at":"sky"}';
  for (const { prompt } of made) expect(prompt.tools[0]?.description).toBe(described);
  expect(parseOllamaChat({ model: "a", messages: hi, tools: nested }, compat).work).toMatchObject({
    conversation: { run: { prompt: { tools: [{ description: described }] } } },
  });
});

test("images beside a raw prompt of Ollama's are refused, not lost", () => {
  const body = { model: "a", prompt: "hi", raw: true, images: ["aGk="] };
  expect(() => parseOllamaGenerate(body, compat)).toThrow("images cannot be read with raw or suffix");
});
