// Tool lists as coding agents, assistants and MCP servers declare them: the shapes that such clients send, in our words.

import { defined } from "../../src/core/defined.ts";
import type { ToolSpec } from "../../src/core/message.ts";

type Schema = Readonly<Record<string, unknown>>;

const text = (description?: string): Schema => ({
  type: "string",
  ...defined({ description }),
});
const integer = (more: Schema = {}): Schema => ({ type: "integer", ...more });
const flag = { type: "boolean", default: false };
const words = { type: "array", items: { type: "string" } };
const optional = (schema: Schema): Schema => ({ anyOf: [schema, { type: "null" }], default: null });
const oneOfWords = (...values: readonly string[]): Schema => ({ type: "string", enum: values });

function object(
  properties: Readonly<Record<string, Schema>>,
  required: readonly string[] = [],
  more: Schema = {},
): Schema {
  return { type: "object", properties, required, ...more };
}

/** Arguments by the tool's name. */
const PARAMETERS: Readonly<Record<string, Schema>> = {
  read_file: object(
    {
      path: text("Absolute path"),
      offset: integer({ minimum: 0 }),
      limit: integer({ minimum: 1, maximum: 2000 }),
    },
    ["path"],
  ),
  write_file: object({ file_path: text(), content: text() }, ["file_path", "content"], {
    additionalProperties: false,
  }),
  edit: object({ file_path: text(), old_string: text(), new_string: text(), replace_all: flag }, [
    "file_path",
    "old_string",
    "new_string",
  ]),
  multi_edit: object(
    {
      path: text(),
      edits: {
        type: "array",
        minItems: 1,
        maxItems: 4,
        items: object({ from: text(), to: text() }, ["from", "to"], { additionalProperties: false }),
      },
    },
    ["path", "edits"],
  ),
  glob: object({ pattern: text(), path: text() }, ["pattern"]),
  grep: object(
    {
      pattern: text(),
      output_mode: oneOfWords("content", "files_with_matches", "count"),
      "-A": { type: "number" },
      "-i": { type: "boolean" },
      head_limit: { type: "number" },
    },
    ["pattern"],
  ),
  bash: object(
    { command: text(), timeout: { type: "number", maximum: 600000 }, run_in_background: { type: "boolean" } },
    ["command"],
  ),
  todo_write: object(
    {
      todos: {
        type: "array",
        maxItems: 5,
        items: object(
          {
            content: { type: "string", minLength: 1 },
            status: oneOfWords("pending", "in_progress", "completed"),
            id: text(),
          },
          ["content", "status", "id"],
          { additionalProperties: false },
        ),
      },
    },
    ["todos"],
  ),
  web_fetch: object({ url: { type: "string", format: "uri" }, prompt: text() }, ["url", "prompt"]),
  web_search: object(
    { query: { type: "string", minLength: 2 }, allowed_domains: words, blocked_domains: words },
    ["query"],
  ),
  apply_patch: object({ input: text("The whole patch") }, ["input"]),
  shell: object({ command: words, workdir: text(), timeout_ms: integer() }, ["command"]),
  update_plan: object(
    {
      explanation: text(),
      plan: {
        type: "array",
        maxItems: 4,
        items: object({ step: text(), status: oneOfWords("pending", "in_progress", "completed") }, [
          "step",
          "status",
        ]),
      },
    },
    ["plan"],
  ),
  get_weather: object(
    { city: text(), days: integer({ enum: [1, 3, 7] }), unit: oneOfWords("celsius", "fahrenheit") },
    ["city", "days"],
  ),
  send_email: object(
    {
      to: { type: "array", minItems: 1, maxItems: 3, items: { type: "string", format: "email" } },
      subject: { type: "string", maxLength: 120 },
      body: text(),
      cc: optional(words),
    },
    ["to", "subject", "body"],
  ),
  create_event: object(
    {
      title: text(),
      start: { type: "string", format: "date-time" },
      end: { type: "string", format: "date-time" },
      all_day: flag,
      attendees: words,
    },
    ["title", "start", "end"],
  ),
  list_issues: object(
    {
      owner: text(),
      repo: text(),
      state: oneOfWords("open", "closed", "all"),
      page: integer({ minimum: 1 }),
      perPage: integer({ minimum: 1, maximum: 100 }),
      labels: words,
    },
    ["owner", "repo"],
  ),
  create_issue: object(
    {
      owner: text(),
      repo: text(),
      title: text(),
      body: text(),
      labels: words,
      assignees: words,
      milestone: { type: "number" },
    },
    ["owner", "repo", "title"],
  ),
  get_file_contents: object(
    {
      owner: text(),
      repo: text(),
      path: text(),
      ref: text(),
      sha: { type: "string", pattern: "^[0-9a-f]{40}$" },
    },
    ["owner", "repo", "path"],
  ),
  query: object(
    { sql: text(), params: { type: "array", items: { type: ["string", "number", "boolean", "null"] } } },
    ["sql"],
  ),
  browser_click: object(
    {
      element: text(),
      ref: text(),
      doubleClick: { type: "boolean" },
      button: oneOfWords("left", "right", "middle"),
      modifiers: { type: "array", items: oneOfWords("Alt", "Control", "Shift") },
    },
    ["element", "ref"],
  ),
  browser_navigate: object({ url: text() }, ["url"], {
    additionalProperties: false,
    $schema: "http://json-schema.org/draft-07/schema#",
  }),
  browser_take_screenshot: object({
    type: { type: "string", enum: ["png", "jpeg"], default: "png" },
    filename: text(),
    fullPage: { type: "boolean" },
  }),
  move_mouse: object(
    { coordinate: { type: "array", items: { type: "integer" }, minItems: 2, maxItems: 2 } },
    ["coordinate"],
  ),
  set_volume: object({ level: { type: "number", minimum: 0, maximum: 1 } }, ["level"]),
  no_arguments: object({}),
  get_current_time: {
    type: "object",
    properties: { timezone: { type: "string", description: "IANA name" } },
  },
  convert_time: object(
    {
      source_timezone: text(),
      time: { type: "string", pattern: "^([01][0-9]|2[0-3]):[0-5][0-9]$" },
      target_timezone: text(),
    },
    ["source_timezone", "time", "target_timezone"],
  ),
  create_entities: object(
    {
      entities: {
        type: "array",
        maxItems: 3,
        items: object({ name: text(), entityType: text(), observations: words }, [
          "name",
          "entityType",
          "observations",
        ]),
      },
    },
    ["entities"],
  ),
  sequential_thinking: object(
    {
      thought: text(),
      nextThoughtNeeded: { type: "boolean" },
      thoughtNumber: integer({ minimum: 1 }),
      totalThoughts: integer({ minimum: 1 }),
      isRevision: { type: "boolean" },
    },
    ["thought", "nextThoughtNeeded", "thoughtNumber", "totalThoughts"],
  ),
  book_flight: object(
    {
      from: { type: "string", pattern: "^[A-Z]{3}$" },
      to: { type: "string", pattern: "^[A-Z]{3}$" },
      date: { type: "string", format: "date" },
      passengers: integer({ minimum: 1, maximum: 9 }),
      cabin: oneOfWords("economy", "business", "first"),
    },
    ["from", "to", "date"],
  ),
  add_note: {
    type: "object",
    properties: {
      note: { $ref: "#/$defs/Note" },
      pinned: { anyOf: [{ type: "boolean" }, { type: "null" }] },
    },
    required: ["note"],
    $defs: { Note: object({ title: text(), tags: words }, ["title"]) },
  },
  set_color: object(
    {
      color: {
        oneOf: [
          { type: "string", pattern: "^#[0-9a-f]{6}$" },
          object(
            {
              r: integer({ minimum: 0, maximum: 255 }),
              g: integer({ minimum: 0, maximum: 255 }),
              b: integer({ minimum: 0, maximum: 255 }),
            },
            ["r", "g", "b"],
          ),
        ],
      },
    },
    ["color"],
  ),
  run_query: object(
    {
      filter: { type: "object", additionalProperties: { type: "string" } },
      limit: optional(integer({ minimum: 1 })),
    },
    ["filter"],
  ),
  schedule: object(
    {
      cron: text(),
      repeat: { type: ["integer", "null"] },
      priority: { enum: ["low", "high"] },
      retries: { const: 3 },
    },
    ["cron", "priority", "retries"],
  ),
  payment: object(
    {
      amount: { type: "number", exclusiveMinimum: 0, multipleOf: 0.01, maximum: 10000 },
      currency: oneOfWords("EUR", "USD"),
      iban: text(),
    },
    ["amount", "currency"],
    { dependentRequired: { iban: ["currency"] } },
  ),
  upload: object(
    {
      name: { type: "string", minLength: 3, maxLength: 20 },
      data: { type: "string", format: "byte" },
      mode: integer({ enum: [384, 420, 493] }),
    },
    ["name", "data"],
  ),
  rate: object(
    { stars: integer({ minimum: 1, maximum: 5 }), comment: { type: ["string", "null"] } },
    ["stars", "comment"],
    { additionalProperties: false },
  ),
  pick: object(
    {
      values: {
        type: "array",
        items: { type: "integer" },
        contains: { type: "integer" },
        minItems: 1,
        maxItems: 4,
      },
    },
    ["values"],
  ),
  tags: object({ tags: { type: "array", items: oneOfWords("a", "b", "c"), uniqueItems: true } }, ["tags"]),
  anything: object({ value: {}, note: { description: "free" } }, ["value"]),
};

function tool(name: string, strict: boolean): ToolSpec {
  return {
    name,
    description: `Does ${name.replaceAll("_", " ")}`,
    parameters: PARAMETERS[name] ?? {},
    strict,
  };
}

/** Names of all tools. */
const TOOL_NAMES: readonly string[] = Object.keys(PARAMETERS);

/** Two hundred lists of one to eight tools; every tool stands alone in one of them. */
export function toolLists(strict: boolean): readonly (readonly ToolSpec[])[] {
  const lists = TOOL_NAMES.map((name) => [tool(name, strict)]);
  for (let i = 0; lists.length < 200; i++) {
    const count = 2 + (i % 7);
    const names = Array.from(
      { length: count },
      (_, k) => TOOL_NAMES[(i * 7 + k * (1 + (i % 5))) % TOOL_NAMES.length] ?? "",
    );
    lists.push([...new Set(names)].map((name) => tool(name, strict)));
  }
  return lists;
}
