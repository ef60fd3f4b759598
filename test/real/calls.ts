// Calls that must be made, of models that were not trained to end them: each is one complete call within its tokens, in all dialects.

import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { FILES, realFile } from "./models.ts";
import { type Answer, type Json, type RealServer, serveReal, user } from "./server.ts";

/** Functions whose arguments invite a small model to go on and on: letters, lists, nested members. */
const text = { type: "string" };
const FUNCTIONS: Readonly<Record<string, Json>> = {
  get_weather: { city: text },
  send_email: { to: text, subject: text, body: text },
  write_file: { path: text, content: text },
  make_list: { title: text, items: { type: "array", items: text } },
  plan_trip: {
    stops: {
      type: "array",
      items: {
        type: "object",
        properties: { city: text, days: { type: "integer" } },
        required: ["city", "days"],
      },
    },
    notes: text,
  },
};
const QUESTIONS: readonly (readonly [question: string, name: string])[] = [
  ["What is the weather in Paris?", "get_weather"],
  ["Write an e-mail to Ann about the meeting on Monday.", "send_email"],
  ["Write a long story about a dragon into story.txt.", "write_file"],
  ["List everything that I need for a week in the mountains.", "make_list"],
  ["Plan a trip through Italy with ten stops.", "plan_trip"],
];
const schemaOf = (properties: Json): Json => ({
  type: "object",
  properties,
  required: Object.keys(properties),
});
const functions = Object.entries(FUNCTIONS).map(([name, properties]) => ({
  name,
  description: `Function ${name}`,
  parameters: schemaOf(properties),
}));

interface Call {
  readonly name: string;
  readonly args: string;
}
/** How a dialect forces a call, and the calls of its answer where it ended for them. */
interface Dialect {
  readonly path: string;
  readonly body: (question: string, name: string | undefined, most: number) => Json;
  readonly calls: (answer: Answer) => readonly Call[] | undefined;
}

const DIALECTS: Readonly<Record<string, Dialect>> = {
  chat: {
    path: "/v1/chat/completions",
    body: (question, name, most) => ({
      messages: [user(question)],
      tools: functions.map((one) => ({ type: "function", function: one })),
      tool_choice: name === undefined ? "required" : { type: "function", function: { name } },
      max_tokens: most,
    }),
    calls: ({ choices: [choice] }) =>
      choice.finish_reason === "tool_calls"
        ? choice.message.tool_calls.map(({ function: { name, arguments: args } }: Answer) => ({ name, args }))
        : undefined,
  },
  responses: {
    path: "/v1/responses",
    body: (question, name, most) => ({
      input: question,
      tools: functions.map((one) => ({ type: "function", ...one })),
      tool_choice: name === undefined ? "required" : { type: "function", name },
      max_output_tokens: most,
      store: false,
    }),
    calls: ({ status, output }) =>
      status === "completed"
        ? output
            .filter(({ type }: Answer) => type === "function_call")
            .map(({ name, arguments: args }: Answer) => ({ name, args }))
        : undefined,
  },
  messages: {
    path: "/v1/messages",
    body: (question, name, most) => ({
      messages: [user(question)],
      tools: functions.map(({ parameters, ...one }) => ({ ...one, input_schema: parameters })),
      tool_choice: name === undefined ? { type: "any" } : { type: "tool", name },
      max_tokens: most,
    }),
    calls: ({ stop_reason: reason, content }) =>
      reason === "tool_use"
        ? content
            .filter(({ type }: Answer) => type === "tool_use")
            .map(({ name, input }: Answer) => ({ name, args: JSON.stringify(input) }))
        : undefined,
  },
};

/** Whether an answer is one complete call, of the function that was named. */
function isProper(calls: readonly Call[] | undefined, name: string | undefined): boolean {
  const [call, ...more] = calls ?? [];
  if (call === undefined || more.length > 0 || (name ?? call.name) !== call.name) return false;
  const args: Answer = JSON.parse(call.args);
  return Object.keys(FUNCTIONS[call.name] ?? {}).every((key) => key in args);
}

/** 60 requests: short and long answers of each question, named and not, in each dialect. */
const REQUESTS = Object.entries(DIALECTS).flatMap(([dialect, { path, body, calls }]) =>
  QUESTIONS.flatMap(([question, name]) =>
    [name, undefined].flatMap((named) =>
      [
        { temperature: 0, most: 250 },
        { temperature: 0.7, most: 80 },
      ].map(({ temperature, most }) => ({
        what: `${dialect}, ${named ?? "required"}, ${temperature}`,
        path,
        named,
        calls,
        body: { ...body(question, named, most), temperature },
      })),
    ),
  ),
);

for (const [model, file] of [
  ["SmolLM2-135M-Instruct", FILES.smollm],
  ["Gemma 3 270M", FILES.gemma],
] as const) {
  const found = await realFile(file);
  describe.skipIf(found === undefined)(model, () => {
    let server: RealServer;
    beforeAll(async () => void (server = await serveReal(found)));
    afterAll(async () => void (await server.stop()));

    test("60 forced calls end with one complete call", async () => {
      const lost: string[] = [];
      for (const { what, path, named, calls, body } of REQUESTS) {
        const answer = await server.post(path, body);
        if (!isProper(calls(answer), named)) lost.push(`${what}: ${JSON.stringify(answer)}`);
      }
      console.log(`${model}: ${REQUESTS.length - lost.length} of ${REQUESTS.length} forced calls ended`);
      expect(lost).toEqual([]);
    });
  });
}
