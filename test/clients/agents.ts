// The coding agents of the ring: where they come from, how they are pointed at a server and how they are given one task.
// docs/clients.md shows these very configurations (document.ts).

/** The server as a configuration names it. */
export interface Target {
  /** `http://localhost:1234` */
  readonly root: string;
}

/** What points an agent at a server. */
export interface Configuration {
  /** Language of the block in the documentation. */
  readonly language: "toml" | "json" | "yaml" | "sh";
  readonly text: string;
  /** Where it goes, from the home folder or from the project; a shell script is read for its environment. */
  readonly file: { readonly in: "home" | "project"; readonly path: string } | "environment";
}

export interface Agent {
  readonly name: string;
  /** On npm. */
  readonly package: string;
  readonly version: string;
  readonly speaks: string;
  readonly configure: (target: Target) => Configuration;
  /** The executable below node_modules. */
  readonly executable: string;
  readonly args: (prompt: string, home: string) => readonly string[];
  readonly environment?: Readonly<Record<string, string>>;
}

export const AGENTS: readonly Agent[] = [
  {
    name: "Codex",
    package: "@openai/codex",
    version: "0.169.0",
    speaks: "responses",
    configure: ({ root }) => ({
      language: "toml",
      file: { in: "home", path: ".codex/config.toml" },
      text: `model = "default"
model_provider = "svc"

[model_providers.svc]
name = "svc"
base_url = "${root}/v1"
wire_api = "responses"
`,
    }),
    executable: ".bin/codex",
    args: (prompt) => ["exec", "--skip-git-repo-check", "--dangerously-bypass-approvals-and-sandbox", prompt],
  },
  {
    name: "Claude Code",
    package: "@anthropic-ai/claude-code",
    version: "2.1.330",
    speaks: "messages",
    configure: ({ root }) => ({
      language: "sh",
      file: "environment",
      text: `export ANTHROPIC_BASE_URL=${root}   # without /v1
export ANTHROPIC_AUTH_TOKEN=none
export ANTHROPIC_MODEL=default ANTHROPIC_DEFAULT_HAIKU_MODEL=default
`,
    }),
    executable: "@anthropic-ai/claude-code-linux-x64/claude",
    args: (prompt) => ["-p", prompt, "--dangerously-skip-permissions"],
    environment: { IS_SANDBOX: "1", CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1" },
  },
  {
    name: "opencode",
    package: "opencode-ai",
    version: "1.18.33",
    speaks: "chat completions",
    configure: ({ root }) => ({
      language: "json",
      file: { in: "project", path: "opencode.json" },
      text: `{
  "$schema": "https://opencode.ai/config.json",
  "provider": {
    "svc": {
      "npm": "@ai-sdk/openai-compatible",
      "name": "svc",
      "options": { "baseURL": "${root}/v1" },
      "models": { "default": { "name": "svc", "limit": { "context": 32768, "output": 4096 } } }
    }
  },
  "model": "svc/default"
}
`,
    }),
    executable: "opencode-linux-x64/bin/opencode",
    args: (prompt) => ["run", prompt],
  },
  {
    name: "Continue CLI",
    package: "@continuedev/cli",
    version: "1.5.47",
    speaks: "chat completions",
    configure: ({ root }) => ({
      language: "yaml",
      file: { in: "home", path: ".continue/config.yaml" },
      text: `name: Local
version: 1.0.0
schema: v1
models:
  - name: svc
    provider: openai
    model: default
    apiBase: ${root}/v1
    apiKey: none
    roles: [chat, edit, apply]
`,
    }),
    executable: ".bin/cn",
    args: (prompt, home) => ["--config", `${home}/.continue/config.yaml`, "--auto", "-p", prompt],
  },
  {
    name: "Qwen Code",
    package: "@qwen-code/qwen-code",
    version: "0.24.4",
    speaks: "chat completions",
    configure: ({ root }) => ({
      language: "sh",
      file: "environment",
      text: `export OPENAI_BASE_URL=${root}/v1
export OPENAI_API_KEY=none OPENAI_MODEL=default
`,
    }),
    executable: ".bin/qwen",
    args: (prompt) => ["--auth-type", "openai", "--yolo", "-p", prompt],
  },
  {
    name: "pi",
    package: "@earendil-works/pi-coding-agent",
    version: "0.74.2",
    speaks: "chat completions",
    configure: ({ root }) => ({
      language: "json",
      file: { in: "home", path: ".pi/agent/models.json" },
      text: `{
  "providers": {
    "svc": {
      "baseUrl": "${root}/v1",
      "api": "openai-completions",
      "apiKey": "none",
      "models": [{ "id": "default", "contextWindow": 32768, "maxTokens": 4096 }]
    }
  }
}
`,
    }),
    executable: ".bin/pi",
    args: (prompt) => ["--provider", "svc", "--model", "default", "-p", prompt],
  },
];

/** Python libraries by their names on PyPI; python/loop.py drives them. */
export const LIBRARIES: readonly (readonly [string, string])[] = [
  ["openai", "3.3.0"],
  ["anthropic", "2.12.0"],
  ["openai-agents", "0.24.0"],
  ["pydantic-ai-slim", "2.38.0"],
  ["instructor", "1.17.0"],
  ["litellm", "1.83.0"],
];
