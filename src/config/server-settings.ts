// The settings of `[server]`, as rows of the table in settings.ts.

import { Type } from "@sinclair/typebox";
import { COMPAT_MODES } from "../core/compat.ts";
import { SOCKET_PREFIX } from "../core/listen-addresses.ts";
import { choice, integer, list, optional, section, text, toggle, tristate } from "./field.ts";

/** Runs that may wait for a sequence in one engine before new ones get 429. */
const QUEUE_MAX = 1024;

const HEADER_FORM = { pattern: "^[A-Za-z0-9-]+$", words: "the name of a header" };

export const Server = section("Where the server listens and how it handles requests.", {
  host: text(
    "Address to listen on; 127.0.0.1 serves this machine only. With 0.0.0.0 the server takes :: too, with 127.0.0.1 ::1. `unix:PATH` is a UNIX socket, without a port.",
    {
      default: "0.0.0.0",
      pathAfter: SOCKET_PREFIX,
      form: { pattern: "^(?:unix:.+|(?!unix:)[^/]+)$", words: "an address, a host name or `unix:PATH`" },
    },
  ),
  socket_mode: text(
    "Permissions of the UNIX socket that `host` names, in octal; `0660` lets its group connect, too.",
    { default: "0600", form: { pattern: "^0?[0-7]{3}$", words: "an octal mode like 0660" } },
  ),
  port: integer("Port to listen on; 0 picks a free one.", {
    short: "-p",
    default: 1234,
    minimum: 0,
    maximum: 65_535,
  }),
  compat: choice(
    COMPAT_MODES,
    "Requests that the specification rejects but widely used clients send: `strict` rejects them, `clients` serves them as closely as possible. See docs/clients.md.",
    { default: "strict", example: "clients" },
  ),
  queue_max: integer("Requests that may wait for a free sequence; more are rejected with 429.", {
    default: QUEUE_MAX,
    minimum: 1,
    maximum: 1_000_000,
  }),
  max_connections: optional(
    integer(
      "Open connections beyond which requests are rejected with 503 and their connections closed; unset: nine tenths of the open files that the system allows.",
      { minimum: 1, example: 4096 },
    ),
  ),
  trusted_proxies: optional(
    list(
      Type.String({ pattern: "^[0-9A-Fa-f.:]+(?:/\\d{1,3})?$" }),
      "Addresses, or ranges like 10.0.0.0/8, of reverse proxies whose X-Forwarded-For names the client.",
      { minItems: 1, example: ["127.0.0.1"] },
    ),
  ),
  user_header: optional(
    text(
      "Header in which trusted_proxies name the person whom they have signed in; such a request needs no key, all others do.",
      { form: HEADER_FORM, example: "x-auth-request-email" },
    ),
  ),
  groups_header: optional(
    text("Header in which they name this person's groups.", {
      form: HEADER_FORM,
      example: "x-auth-request-groups",
    }),
  ),
  admin_groups: optional(
    list(Type.String({ minLength: 1 }), "Groups whose members are administrators.", {
      minItems: 1,
      example: ["svc-admins"],
    }),
  ),
  user_groups: optional(
    list(
      Type.String({ minLength: 1 }),
      "Groups whose members may use the server; unset: everybody whom the proxy lets in.",
      {
        minItems: 1,
        example: ["staff"],
      },
    ),
  ),
  state: text("Where files, sessions and stored responses are kept; `sqlite:FILE` survives a restart.", {
    default: "memory",
    pathAfter: "sqlite:",
    form: { pattern: "^(?:memory|sqlite:.+)$", words: "`memory` or `sqlite:FILE`" },
  }),
  no_ui: toggle("Do not serve the web interface at /ui."),
  ui_history: choice(
    ["browser", "server"],
    "Where the web interface keeps conversations: in the browser alone, or also on the `server`, by API key; `state` says whether they survive a restart.",
    { default: "browser", example: "server" },
  ),
  ui_mcp: toggle(
    "Let the web interface add MCP servers at http and https addresses, for clients on this machine and those with an API key.",
  ),
  ui_mcp_private: toggle(
    "Let these MCP servers be at addresses of this machine and of private networks, too, not on the public internet only.",
  ),
  mcp_port: optional(
    integer("Port on which the server itself speaks MCP, at POST /mcp; 0 picks a free one.", {
      minimum: 0,
      maximum: 65_535,
      example: 1235,
    }),
  ),
  drain_timeout: integer("Seconds for running requests to finish when the server stops.", {
    default: 30,
    minimum: 0,
    maximum: 86_400,
  }),
  ollama_port: optional(
    integer("Second port for Ollama clients; 0 picks a free one. A port in use is only a warning.", {
      minimum: 0,
      maximum: 65_535,
      example: 11_434,
    }),
  ),
  max_tool_rounds: optional(
    integer("Maximum rounds of server tools, for requests without a cap; 0 hides the tools. Unset: 256.", {
      minimum: 0,
      example: 16,
    }),
  ),
  tools_in_prompt: optional(
    integer(
      "Tokens of tool definitions in a prompt: the model finds other tools with a search. Unset: a quarter of the context.",
      { minimum: 0, example: 8000 },
    ),
  ),
  tool_dispatch_url: optional(
    text("URL to which calls of tools that the server does not run are posted; unset: clients get them.", {
      form: { pattern: "^https?://.", words: "an http or https URL" },
      example: "http://127.0.0.1:7000/tools",
    }),
  ),
  tool_dispatch_timeout: integer("Timeout of a call to that URL, seconds.", {
    default: 60,
    minimum: 1,
    maximum: 86_400,
  }),
  disable_access_log: toggle("Write no access log.", { isLive: true }),
  access_log_format: choice(["text", "json"], "Format of the access log.", { isLive: true, default: "text" }),
  access_log_health: toggle("Log requests for health, metrics and documentation too.", { isLive: true }),
  disable_request_id_header: toggle("Do not send x-request-id back."),
  disable_metrics: toggle("Serve no metrics."),
  traces: toggle(
    "Keep the last 200 requests to models as traces, which the web interface shows to administrators.",
  ),
  otlp_endpoint: optional(
    text(
      "Collector of OpenTelemetry that gets the traces, by OTLP over HTTP: its address without /v1/traces.",
      {
        form: { pattern: "^https?://[^\\s?#]+$", words: "an http or https address" },
        env: "OTEL_EXPORTER_OTLP_ENDPOINT",
        example: "http://127.0.0.1:4318",
      },
    ),
  ),
  otlp_headers: optional(
    list(Type.String({ pattern: "^[A-Za-z0-9-]+=.+$" }), "Headers for this collector, NAME=VALUE: its key.", {
      env: "OTEL_EXPORTER_OTLP_HEADERS",
      secretAfter: "",
      minItems: 1,
      example: ["x-api-key=secret"],
    }),
  ),
  metrics_keys: toggle("Show usage by key in the metrics: names of at most 500 keys become labels."),
  idle_timeout: optional(
    integer("Seconds without a request after which a model is unloaded; the next request loads it again.", {
      minimum: 1,
      maximum: 2_000_000,
      example: 600,
    }),
  ),
  models_memory_mb: optional(
    integer(
      "MiB of main memory for all loaded models; the longest unused are unloaded for another one. Unset: what is free.",
      { minimum: 1, example: 16_384 },
    ),
  ),
  max_loaded_models: optional(
    integer("Models held in memory at the same time; for another one the longest unused is unloaded.", {
      minimum: 1,
      example: 2,
    }),
  ),
  models_dir: optional(
    text(
      "Folder of GGUF files that are served beside [[models]], its folders included; changes apply at once.",
      { isFolder: true, example: "models" },
    ),
  ),
  models_mutable: optional(
    tristate(
      "Let clients search the hub, download and delete models: all (`true`) or none (`false`). Unset: those on this machine, and those with an API key.",
      { example: true },
    ),
  ),
  models_max_bytes: optional(
    integer(
      "Bytes of downloaded models beyond which no further one is downloaded; unset: as the disk allows.",
      {
        minimum: 1,
        example: 200_000_000_000,
      },
    ),
  ),
  allow_runtime_lora_updating: toggle("Let clients load and unload LoRA adapters."),
  lora_adapter_root: optional(
    text("Folder that adapters loaded by clients must lie in.", { isPath: true, example: "adapters" }),
  ),
  image_dir: optional(
    text("Folder for generated image files; unset: a temporary one.", {
      isFolder: true,
      example: "images",
    }),
  ),
  allowed_hosts: optional(
    list(
      Type.String({ pattern: "^(?:\\*|(?:\\*\\.)?[A-Za-z0-9_.-]+)$" }),
      "Host names under which a server without api_keys answers, besides addresses and names of this machine and local networks; `*.example.org`: all below it, `*`: all.",
      { minItems: 1, example: ["svc.example.org"] },
    ),
  ),
  allowed_origins: optional(
    list(
      Type.String({ pattern: "^(?:\\*|https?://[^/]+)$" }),
      "Web pages that may use the server, as https://app.example; `*`: all. Unset: where no key is needed, pages of other origins may use the routes of inference, and none where models can act.",
      { minItems: 1, example: ["https://app.example"] },
    ),
  ),
  api_keys: optional(
    list(
      Type.String({ minLength: 1 }),
      "API keys of administrators, one of which clients must send: plain, env:NAME, or path:FILE with one a line; unset, without keys and without keys_file: no key is required.",
      {
        isLive: true,
        secretAfter: "",
        minItems: 1,
        example: ["a-long-random-word"],
      },
    ),
  ),
  keys_file: optional(
    text(
      "File of the keys that `svc keys` makes, as digests; changes apply at once. Unset: svc/keys.json in the folder of the user's configuration.",
      { pathAfter: "", example: "/var/lib/svc/keys.json" },
    ),
  ),
});
