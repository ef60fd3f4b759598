// The programs that `svc launch` connects, one row each. docs/clients.md, the page "Connect your apps" and test/clients show
// and run the same rows. A row adds svc to the choices of a program; what the user had chosen stays.

import { type Client, type Target, answerTokens, baseUrl } from "./client.ts";

const CONTINUE_FILE = ["config.yaml"] as const;

/** Variables of programs that know OpenAI's. */
function openAi(target: Target): Readonly<Record<string, string>> {
  return { OPENAI_BASE_URL: baseUrl(target), OPENAI_API_KEY: target.key, OPENAI_MODEL: target.model };
}

/** A model in the lists of VS Code and its kin. */
function codeModel(target: Target): object {
  const maxOutputTokens = answerTokens(target);
  return {
    id: target.model,
    name: `svc: ${target.model}`,
    url: `${baseUrl(target)}/chat/completions`,
    toolCalling: true,
    vision: target.images,
    maxInputTokens: target.context - maxOutputTokens,
    maxOutputTokens,
  };
}

export const CLIENTS: readonly Client[] = [
  {
    id: "claude",
    name: "Claude Code",
    programs: ["claude"],
    install: "npm install -g @anthropic-ai/claude-code",
    speaks: "Messages",
    needs: { context: 65_536, tools: true, compat: false },
    connect: ({ root, key, model, context }) => ({
      variables: {
        ANTHROPIC_BASE_URL: root, // without /v1
        ANTHROPIC_AUTH_TOKEN: key,
        ANTHROPIC_API_KEY: "",
        ANTHROPIC_MODEL: model,
        ANTHROPIC_DEFAULT_OPUS_MODEL: model,
        ANTHROPIC_DEFAULT_SONNET_MODEL: model,
        ANTHROPIC_DEFAULT_HAIKU_MODEL: model,
        CLAUDE_CODE_AUTO_COMPACT_WINDOW: String(context),
      },
      args: [],
    }),
    notes: ["With `ENABLE_TOOL_SEARCH=true` it loads tools of MCP servers when it needs them."],
  },
  {
    id: "codex",
    name: "Codex",
    programs: ["codex"],
    install: "npm install -g @openai/codex",
    speaks: "Responses",
    needs: { context: 32_768, tools: true, compat: true },
    connect: (target) => ({
      file: {
        format: "toml",
        folder: { base: "home", path: ".codex", variable: "CODEX_HOME" },
        names: ["config.toml"],
        entries: [
          {
            path: ["model_providers", "svc"],
            value: {
              name: "svc",
              base_url: baseUrl(target),
              wire_api: "responses",
              experimental_bearer_token: target.key,
            },
          },
        ],
      },
      variables: {},
      args: [
        "-c",
        "model_provider=svc",
        "-c",
        `model=${target.model}`,
        "-c",
        `model_context_window=${target.context}`,
      ],
    }),
    notes: [],
  },
  {
    id: "opencode",
    name: "opencode",
    programs: ["opencode"],
    install: "npm install -g opencode-ai",
    speaks: "chat completions",
    needs: { context: 32_768, tools: true, compat: false },
    connect: (target) => ({
      file: {
        format: "json",
        folder: { base: "config", path: "opencode" },
        names: ["opencode.json", "opencode.jsonc"],
        entries: [
          { path: ["$schema"], value: "https://opencode.ai/config.json", isForm: true },
          {
            path: ["provider", "svc"],
            value: {
              npm: "@ai-sdk/openai-compatible",
              name: "svc",
              options: { baseURL: baseUrl(target), apiKey: target.key },
              models: {
                [target.model]: {
                  name: `svc: ${target.model}`,
                  limit: { context: target.context, output: answerTokens(target) },
                },
              },
            },
          },
        ],
      },
      variables: {},
      args: ["--model", `svc/${target.model}`],
    }),
    notes: [],
  },
  {
    id: "qwen",
    name: "Qwen Code",
    programs: ["qwen"],
    install: "npm install -g @qwen-code/qwen-code",
    speaks: "chat completions",
    needs: { context: 32_768, tools: true, compat: false },
    connect: (target) => ({ variables: openAi(target), args: ["--auth-type", "openai"] }),
    notes: [],
  },
  {
    id: "pi",
    name: "pi",
    programs: ["pi"],
    install: "npm install -g @earendil-works/pi-coding-agent",
    speaks: "chat completions",
    needs: { context: 16_384, tools: true, compat: false },
    connect: (target) => ({
      file: {
        format: "json",
        folder: { base: "home", path: ".pi/agent" },
        names: ["models.json"],
        entries: [
          {
            path: ["providers", "svc"],
            value: {
              baseUrl: baseUrl(target),
              api: "openai-completions",
              apiKey: target.key,
              models: [
                {
                  id: target.model,
                  input: target.images ? ["text", "image"] : ["text"],
                  contextWindow: target.context,
                  maxTokens: answerTokens(target),
                },
              ],
            },
          },
        ],
      },
      variables: {},
      args: ["--provider", "svc", "--model", target.model],
    }),
    notes: [],
  },
  {
    id: "aider",
    name: "aider",
    programs: ["aider"],
    install: "python -m pip install aider-chat",
    speaks: "chat completions",
    needs: { context: 8192, tools: false, compat: false },
    connect: (target) => ({
      variables: { OPENAI_API_BASE: baseUrl(target), OPENAI_API_KEY: target.key },
      args: ["--model", `openai/${target.model}`],
    }),
    notes: [],
  },
  {
    id: "continue",
    name: "Continue",
    programs: ["cn"],
    install: "npm install -g @continuedev/cli",
    speaks: "chat completions",
    needs: { context: 16_384, tools: true, compat: false },
    connect: (target) => ({
      file: {
        format: "yaml",
        folder: { base: "home", path: ".continue" },
        names: CONTINUE_FILE,
        entries: [
          { path: ["name"], value: "Local", isForm: true },
          { path: ["version"], value: "1.0.0", isForm: true },
          { path: ["schema"], value: "v1", isForm: true },
          {
            path: ["models"],
            isItem: true,
            value: {
              name: "svc",
              provider: "openai",
              model: target.model,
              apiBase: baseUrl(target),
              apiKey: target.key,
              defaultCompletionOptions: { contextLength: target.context, maxTokens: answerTokens(target) },
              roles: ["chat", "edit", "apply"],
            },
          },
        ],
      },
      variables: {},
      args: ["--config", `~/.continue/${CONTINUE_FILE[0]}`],
    }),
    notes: [
      "The extensions for VS Code and JetBrains read the same file.",
      "For completion while typing, also serve a fill-in-the-middle model and add it with `roles: [autocomplete]`; an embedding model has `roles: [embed]`.",
    ],
  },
  {
    id: "cline",
    name: "Cline",
    programs: ["cline"],
    install: "npm install -g cline",
    speaks: "chat completions",
    needs: { context: 32_768, tools: true, compat: false },
    connect: (target) => ({
      file: {
        format: "json",
        folder: { base: "home", path: ".cline/data/settings" },
        names: ["providers.json"],
        entries: [
          { path: ["version"], value: 1, isForm: true },
          { path: ["lastUsedProvider"], value: "openai-compatible" },
          {
            path: ["providers", "openai-compatible"],
            value: {
              settings: {
                provider: "openai-compatible",
                apiKey: target.key,
                model: target.model,
                baseUrl: baseUrl(target),
              },
              updatedAt: "2026-01-01T00:00:00.000Z",
              tokenSource: "manual",
            },
          },
        ],
      },
      variables: {},
      args: [],
    }),
    notes: [
      "The extension for VS Code keeps its settings elsewhere: API Provider *OpenAI Compatible*, with this base URL, key and model id, and the context window of the server.",
    ],
  },
  {
    id: "zed",
    name: "Zed",
    programs: ["zed", "zeditor"],
    install: "https://zed.dev/download",
    speaks: "chat completions",
    needs: { context: 16_384, tools: true, compat: false },
    connect: (target) => ({
      file: {
        format: "json",
        folder: { base: "config", path: "zed" },
        names: ["settings.json"],
        entries: [
          {
            path: ["language_models", "openai_compatible", "svc"],
            value: {
              api_url: baseUrl(target),
              available_models: [
                {
                  name: target.model,
                  display_name: `svc: ${target.model}`,
                  max_tokens: target.context,
                  max_output_tokens: answerTokens(target),
                },
              ],
            },
          },
        ],
      },
      variables: { SVC_API_KEY: target.key },
      args: [],
    }),
    notes: [
      "Zed has no place for the key in this file. Started without `SVC_API_KEY` it asks for it, below the provider `svc` in *agent: open settings*.",
    ],
  },
  {
    id: "vscode",
    name: "VS Code",
    programs: ["code", "code-insiders"],
    install: "https://code.visualstudio.com",
    speaks: "chat completions",
    needs: { context: 32_768, tools: true, compat: false },
    connect: (target) => ({
      file: {
        format: "json",
        folder: { base: "config", path: "Code/User" },
        names: ["chatLanguageModels.json"],
        entries: [
          {
            path: [],
            isItem: true,
            value: {
              name: "svc",
              vendor: "customendpoint",
              apiKey: target.key,
              apiType: "chat-completions",
              models: [codeModel(target)],
            },
          },
        ],
      },
      variables: {},
      args: [],
    }),
    notes: [
      "For its own chat, in versions that have *Custom Endpoint* below *Chat: Manage Language Models*. Choose the model in the chat's list.",
    ],
  },
];

/** The client of a name. */
export function clientNamed(id: string): Client | undefined {
  return CLIENTS.find((client) => client.id === id);
}
