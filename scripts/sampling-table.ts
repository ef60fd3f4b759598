// The table of sampling options in docs/fleet.md: which servers honour each, by the API that they are asked through.

import { type ForeignServer, llamaNameOf, SAMPLING_NAMES, samplingOption } from "../src/core/sampling.ts";

const SERVERS: Readonly<Record<ForeignServer, string>> = {
  vllm: "vLLM",
  sglang: "SGLang",
  "llama-server": "llama-server",
  ollama: "Ollama",
  other: "others",
};
const ALL = Object.keys(SERVERS).length;

export function samplingTable(): string {
  const cell = (honouring: readonly ForeignServer[]): string => {
    if (honouring.length === ALL) return "all";
    return ["svc", ...honouring.map((server) => SERVERS[server])].join(", ");
  };
  const rows = SAMPLING_NAMES.map((name) => {
    const { servers } = samplingOption(name);
    const other = llamaNameOf(name);
    const option = other === name ? `\`${name}\`` : `\`${name}\` (llama-server: \`${other}\`)`;
    const cells =
      servers === "all"
        ? ["all", "all", "all"]
        : [servers.chat, servers.messages, servers.responses].map(cell);
    return `| ${[option, ...cells].join(" | ")} |`;
  });
  return ["| Option | Chat completions | Messages | Responses |", "|---|---|---|---|", ...rows].join("\n");
}
