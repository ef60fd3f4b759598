// Conversations and models that the screenshots of the web interface show.

import type { HubFit, HubModelChoice, HubRepository, HubRepositoryDetails } from "../../src/core/hub.ts";
import { append, type Conversation, type Part } from "../../ui/state/conversation.ts";
import { emptyConversation } from "../../ui/state/transfer.ts";

const GIB = 1024 ** 3;

const TEXT = `The difference is one of **growth**. A linear search looks at each element, a binary search halves what is left:

| Elements | Linear | Binary |
|---:|---:|---:|
| 1,000 | 1,000 | 10 |
| 1,000,000 | 1,000,000 | 20 |

It needs $\\lceil \\log_2 n \\rceil$ steps, and a sorted list:

\`\`\`python
def find(items, wanted):
    low, high = 0, len(items) - 1
    while low <= high:
        middle = (low + high) // 2
        if items[middle] == wanted:
            return middle
        if items[middle] < wanted:
            low = middle + 1
        else:
            high = middle - 1
    return None
\`\`\`

- Sorting costs $O(n \\log n)$, so it pays off from the second search on.
- For a few dozen elements, a linear search is just as quick.
`;

/** What the answer about rain follows from. */
const RAIN = `import csv
from collections import Counter

days = list(csv.DictReader(open("rain.csv")))
months = Counter()
for day in days:
    months[day["date"][:7]] += float(day["mm"])
(month, mm), *_ = months.most_common(1)
print(len(days), "days")
print(month, round(mm), "mm")`;

const CHART = `\`\`\`mermaid
graph LR
  Question --> Search
  Search --> Passages
  Passages --> Answer
\`\`\`
`;

const figures = {
  promptTokens: 412,
  cachedTokens: 380,
  completionTokens: 286,
  reasoningTokens: 90,
  speed: 41.2,
  totalSecs: 7.1,
};

function conversation(
  id: string,
  title: string,
  turns: readonly (readonly [string, readonly Part[]])[],
): Conversation {
  let made: Conversation = { ...emptyConversation(id, Date.now()), title };
  turns.forEach(([text, parts], i) => {
    const question = { id: `${id}q${i}`, parent: made.leaf, role: "user" as const, text, attachments: [] };
    made = append(made, question);
    const said = { id: `${id}a${i}`, parent: question.id, role: "assistant" as const, model: "Qwen3-8B" };
    made = append(made, { ...said, parts: [...parts], state: "done", figures, firstTokenMs: 210 });
  });
  return made;
}

const text = (content: string): Part => ({ type: "text", text: content });
export const talk = conversation("talk", "Linear and binary search", [
  ["When is a binary search worth it?", [{ type: "reasoning", text: "They ask about costs." }, text(TEXT)]],
]);
const tools = conversation("tools", "Rainfall of last year", [
  [
    "Which month was the wettest? rain.csv has a row for each day.",
    [
      {
        type: "tool",
        round: 1,
        name: "code_interpreter",
        input: {
          tool_type: "code_execution",
          code: RAIN,
        },
        output: { tool_type: "code_execution", stdout: "365 days\n2025-11 143 mm\n", execution_time_ms: 12 },
      },
      text("**November** was the wettest month of 2025, with 143 mm."),
    ],
  ],
]);
const cut: Conversation = ((made) => ({
  ...made,
  messages: made.messages.map((message) =>
    message.role === "assistant"
      ? { ...message, state: "failed" as const, code: "engine_failed", error: "The engine stopped; retry." }
      : message,
  ),
}))(conversation("cut", "A failed answer", [["Name the planets.", [text("Mercury, Venus, Earth")]]]));
const chart = conversation("chart", "How passages are found", [["Draw how search works.", [text(CHART)]]]);
const others = ["Packing list for the Alps", "Letter to the landlord", "Names for a cat"].map((title, i) =>
  conversation(`other${i}`, title, [[title, [text("…")]]]),
);
export const ALL: readonly Conversation[] = [
  { ...talk, pinned: true, tags: ["work"] },
  tools,
  chart,
  cut,
  ...others.map((one, index) => ({ ...one, tags: ["home"], ...(index < 2 ? { folder: "Household" } : {}) })),
];

export const machine = {
  memory_total_bytes: 32 * GIB,
  memory_free_bytes: 21 * GIB,
  disk_free_bytes: 210 * GIB,
  models_bytes: 12 * GIB,
  models_max_bytes: null,
};
export const repository = (id: string, parameters: number, downloads: number): HubRepository => ({
  id,
  object: "hub.repository",
  access: "public",
  downloads,
  likes: 900,
  updated_at: 1_760_000_000,
  task: "text-generation",
  tags: [],
  license: "apache-2.0",
  architecture: "qwen3",
  parameters,
  context_length: 40_960,
  downloaded: false,
});
export const choice = (quantization: string, gib: number, fit: HubFit): HubModelChoice => ({
  id: `Qwen/Qwen3-14B-GGUF:${quantization}`,
  quantization,
  files: [],
  size_bytes: gib * GIB,
  projector: null,
  draft: null,
  download_bytes: gib * GIB,
  memory_bytes: (gib + 1.6) * GIB,
  fit,
  quality: "good",
  loaded_bytes: 1e9,
  memory: [],
  context_fits: 32_768,
  layers: 29,
  device_layers: 0,
  tokens_per_second: { expected: 12, low: 9, high: 15 },
  is_default: quantization === "Q4_K_M",
  downloaded: false,
});

export const details = (
  of: HubRepository,
  models: readonly HubModelChoice[],
  recommended: HubModelChoice | undefined,
): HubRepositoryDetails => ({
  ...of,
  revision: "main",
  commit: "0123456",
  models: [...models],
  files: [],
  machine,
  estimate: {
    recommended: recommended?.id ?? null,
    reason: "the best quality that fits the free memory",
    memory_bytes_per_second: null,
    devices: [],
  },
});
