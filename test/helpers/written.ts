// How models of each family mark up what they write, by hand after the models' own templates: reasoning, text and tool
// calls. It knows nothing of parsers. families.ts says who writes what.

/** A call as a model writes it. */
export interface WrittenCall {
  readonly name: string;
  readonly args: Readonly<Record<string, unknown>>;
}

/** What an answer consists of. */
export interface Turn {
  readonly reasoning?: string;
  readonly text?: string;
  readonly calls?: readonly WrittenCall[];
}

/** The raw answer. `opened`: the template has opened the reasoning already. */
export type Write = (turn: Turn, opened: boolean) => string;

/** The raw text of one or more calls. */
type Calls = (calls: readonly WrittenCall[]) => string;

/** JSON with spaces after colons and commas, as Python writes it and models have learned it. */
function spaced(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(spaced).join(", ")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  const entries = Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}: ${spaced(item)}`);
  return `{${entries.join(", ")}}`;
}

/** Text as it is, everything else as JSON. */
const bare = (value: unknown): string => (typeof value === "string" ? value : spaced(value));

/** The tags around reasoning. */
export interface Thinking {
  readonly open: string;
  /** Closes the reasoning, with the white space that follows it. */
  readonly close: string;
}

export const THINK: Thinking = { open: "<think>\n", close: "\n</think>\n\n" };
export const TIGHT: Thinking = { open: "<think>", close: "</think>" };

/** Reasoning in tags, then text, then calls after `gap`. */
export function tagged(thinking: Thinking | undefined, calls: Calls, gap = "\n"): Write {
  return ({ reasoning, text = "", calls: made = [] }, opened) => {
    let out = "";
    if (thinking !== undefined) {
      if (reasoning !== undefined) out = (opened ? "" : thinking.open) + reasoning + thinking.close;
      else if (opened) out = thinking.close;
    }
    out += text;
    if (made.length > 0) out += (text === "" ? "" : gap) + calls(made);
    return out;
  };
}

export const hermes: Calls = (calls) =>
  calls.map(({ name, args }) => `<tool_call>\n${spaced({ name, arguments: args })}\n</tool_call>`).join("\n");

export const coder: Calls = (calls) =>
  calls
    .map(({ name, args }) => {
      const parameters = Object.entries(args).map(([k, v]) => `<parameter=${k}>\n${bare(v)}\n</parameter>\n`);
      return `<tool_call>\n<function=${name}>\n${parameters.join("")}</function>\n</tool_call>`;
    })
    .join("\n");

export const llama3: Calls = (calls) =>
  calls.map(({ name, args }) => spaced({ name, parameters: args })).join("; ");

export const nemo: Calls = (calls) =>
  `[TOOL_CALLS]${spaced(calls.map(({ name, args }, i) => ({ name, arguments: args, id: `a1B2c3D4${i}` })))}`;

export const mistralSmall: Calls = (calls) =>
  calls.map(({ name, args }, i) => `[TOOL_CALLS]${name}[CALL_ID]a1B2c3D4${i}[ARGS]${spaced(args)}`).join("");

export const ministral: Calls = (calls) =>
  calls.map(({ name, args }) => `[TOOL_CALLS]${name}[ARGS]${spaced(args)}`).join("");

export const deepseek: Calls = (calls) => {
  const each = calls.map(
    ({ name, args }) => `<｜tool▁call▁begin｜>${name}<｜tool▁sep｜>${spaced(args)}<｜tool▁call▁end｜>`,
  );
  return `<｜tool▁calls▁begin｜>${each.join("")}<｜tool▁calls▁end｜>`;
};

export const deepseekR1: Calls = (calls) => {
  const each = calls.map(
    ({ name, args }) =>
      `<｜tool▁call▁begin｜>function<｜tool▁sep｜>${name}\n\`\`\`json\n${spaced(args)}\n\`\`\`<｜tool▁call▁end｜>`,
  );
  return `<｜tool▁calls▁begin｜>${each.join("\n")}<｜tool▁calls▁end｜>`;
};

export const dsml =
  (block: string): Calls =>
  (calls) => {
    const each = calls.map(({ name, args }) => {
      const parameters = Object.entries(args).map(
        ([k, v]) =>
          `<｜DSML｜parameter name="${k}" string="${typeof v === "string"}">${bare(v)}</｜DSML｜parameter>\n`,
      );
      return `<｜DSML｜invoke name="${name}">\n${parameters.join("")}</｜DSML｜invoke>\n`;
    });
    return `<｜DSML｜${block}>\n${each.join("")}</｜DSML｜${block}>`;
  };

/** Gemma's own notation: keys without quotes, strings between <|"|>. */
function gemmaValue(value: unknown): string {
  if (typeof value === "string") return `<|"|>${value}<|"|>`;
  if (Array.isArray(value)) return `[${value.map(gemmaValue).join(",")}]`;
  if (typeof value !== "object" || value === null) return JSON.stringify(value);
  return `{${Object.entries(value)
    .map(([key, item]) => `${key}:${gemmaValue(item)}`)
    .join(",")}}`;
}

export const gemma4: Calls = (calls) =>
  calls.map(({ name, args }) => `<|tool_call>call:${name}${gemmaValue(args)}<tool_call|>`).join("");

export const glm =
  (gap: string): Calls =>
  (calls) =>
    calls
      .map(({ name, args }) => {
        const parameters = Object.entries(args).map(
          ([k, v]) => `<arg_key>${k}</arg_key>${gap}<arg_value>${bare(v)}</arg_value>${gap}`,
        );
        return `<tool_call>${name}${gap}${parameters.join("")}</tool_call>`;
      })
      .join(gap);

export const kimi: Calls = (calls) => {
  const each = calls.map(
    ({ name, args }, i) =>
      `<|tool_call_begin|>functions.${name}:${i}<|tool_call_argument_begin|>${spaced(args)}<|tool_call_end|>`,
  );
  return `<|tool_calls_section_begin|>${each.join("")}<|tool_calls_section_end|>`;
};

const cohereAction: Calls = (calls) => {
  const each = calls.map(
    ({ name, args }, i) => `    ${spaced({ tool_call_id: String(i), tool_name: name, parameters: args })}`,
  );
  return `<|START_ACTION|>[\n${each.join(",\n")}\n]<|END_ACTION|>`;
};

export const commandR: Calls = (calls) => {
  const each = calls.map(({ name, args }) => ({ tool_name: name, parameters: args }));
  return `Action:\n\`\`\`json\n${JSON.stringify(each, null, 4)}\n\`\`\``;
};

/** Cohere's later models put their text between markers too. */
export const cohere =
  (start: string, end: string): Write =>
  ({ reasoning, text, calls = [] }, opened) => {
    let out = "";
    if (reasoning !== undefined) out = `${opened ? "" : "<|START_THINKING|>"}${reasoning}<|END_THINKING|>`;
    else if (opened) out = "<|END_THINKING|>";
    if (text !== undefined) out += start + text + end;
    return calls.length > 0 ? out + cohereAction(calls) : out;
  };

export const gptOss: Write = ({ reasoning, text, calls = [] }) => {
  const parts: string[] = [];
  if (reasoning !== undefined) parts.push(`<|channel|>analysis<|message|>${reasoning}<|end|>`);
  const [call] = calls;
  if (call === undefined) parts.push(`<|channel|>final<|message|>${text ?? ""}`);
  else {
    if (text !== undefined) parts.push(`<|channel|>commentary<|message|>${text}<|end|>`);
    parts.push(
      `<|channel|>commentary to=functions.${call.name} <|constrain|>json<|message|>${spaced(call.args)}`,
    );
  }
  return parts.join("<|start|>assistant");
};

export const minimaxM1: Calls = (calls) =>
  `<tool_calls>\n${calls.map(({ name, args }) => `${spaced({ name, arguments: args })}\n`).join("")}</tool_calls>`;

export const minimaxM2: Calls = (calls) => {
  const each = calls.map(({ name, args }) => {
    const parameters = Object.entries(args).map(
      ([k, v]) => `<parameter name="${k}">${bare(v)}</parameter>\n`,
    );
    return `<invoke name="${name}">\n${parameters.join("")}</invoke>\n`;
  });
  return `<minimax:tool_call>\n${each.join("")}</minimax:tool_call>`;
};

const M3 = "]<]minimax[>[";

/** MiniMax M3 writes arguments as nested elements; items of lists are called item. */
function m3Element(key: string, value: unknown): string {
  const inner = Array.isArray(value)
    ? value.map((item) => m3Element("item", item)).join("")
    : typeof value === "object" && value !== null
      ? Object.entries(value)
          .map(([k, v]) => m3Element(k, v))
          .join("")
      : String(value);
  return `${M3}<${key}>${inner}${M3}</${key}>`;
}

export const minimaxM3: Calls = (calls) => {
  const each = calls.map(({ name, args }) => {
    const parameters = Object.entries(args).map(([k, v]) => m3Element(k, v));
    return `${M3}<invoke name="${name}">${parameters.join("")}${M3}</invoke>\n`;
  });
  return `${M3}<tool_call>\n${each.join("")}${M3}</tool_call>`;
};

export const nemotron2: Calls = (calls) =>
  `<TOOLCALL>${spaced(calls.map(({ name, args }) => ({ name, arguments: args })))}</TOOLCALL>`;

export const lfm2: Calls = (calls) => {
  const each = calls.map(({ name, args }) => {
    const parameters = Object.entries(args).map(([k, v]) => `${k}=${spaced(v)}`);
    return `${name}(${parameters.join(", ")})`;
  });
  return `<|tool_call_start|>[${each.join(", ")}]<|tool_call_end|>`;
};

export const seed: Calls = (calls) =>
  calls
    .map(({ name, args }) => {
      const parameters = Object.entries(args).map(([k, v]) => `<parameter=${k}>${bare(v)}</parameter>\n`);
      return `<seed:tool_call>\n<function=${name}>\n${parameters.join("")}</function>\n</seed:tool_call>`;
    })
    .join("\n");

export const apertus: Calls = (calls) =>
  `<|tools_prefix|>${spaced(calls.map(({ name, args }) => ({ [name]: args })))}<|tools_suffix|>`;

export const functionary31: Calls = (calls) =>
  calls.map(({ name, args }) => `<function=${name}>${spaced(args)}</function>`).join("");

export const functionary32: Write = ({ text, calls = [] }) =>
  [
    ...(text === undefined ? [] : [`all\n${text}`]),
    ...calls.map(({ name, args }) => `${name}\n${spaced(args)}`),
  ].join(">>>");
