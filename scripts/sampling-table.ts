// The table of sampling options in docs/fleet.md: which servers honour each.

import { type ForeignServer, llamaNameOf, SAMPLING_NAMES, samplingOption } from "../src/core/sampling.ts";

const SERVERS: Readonly<Record<ForeignServer, string>> = {
  vllm: "vLLM",
  sglang: "SGLang",
  "llama-server": "llama-server",
  ollama: "Ollama",
  other: "others",
};

export function samplingTable(): string {
  const rows = SAMPLING_NAMES.map((name) => {
    const { servers } = samplingOption(name);
    const other = llamaNameOf(name);
    const option = other === name ? `\`${name}\`` : `\`${name}\` (llama-server: \`${other}\`)`;
    const honouring = servers === "all" ? "all" : ["svc", ...servers.map((one) => SERVERS[one])].join(", ");
    return `| ${option} | ${honouring} |`;
  });
  return ["| Sampling option | Servers |", "|---|---|", ...rows].join("\n");
}
