// What people type who know other programs, and how svc says it.

/** Commands of other programs. */
const COMMANDS: Readonly<Record<string, string>> = {
  chat: "To chat in the terminal: svc run",
  download: "To download a model: svc pull owner/name",
  list: "Downloaded models: svc cache list. Models of a running server: curl localhost:1234/v1/models",
  ls: "Downloaded models: svc cache list. Models of a running server: curl localhost:1234/v1/models",
  ps: "Loaded models of a running server: curl localhost:1234/v1/models",
  rm: "To delete a downloaded model: svc cache delete owner/name",
  show: "Settings with their origin: svc config show. A model's card: curl localhost:1234/v1/models",
  start: "To start the server: svc serve",
  stop: "A server ends with Ctrl-C, or with its service. To unload a model: POST /v1/models/unload",
  up: "To start the server: svc serve",
};

/** Flags of other programs, and the flag that means the same, or what to know instead. */
const FLAGS: Readonly<Record<string, string>> = {
  "--api-key": "--api-keys",
  "--batch-size": "--batch",
  "--ctx-size": "--max-seq-len",
  "--device-layers": "--num-device-layers",
  "--gpu-layers": "--num-device-layers",
  "--gpu-memory-utilization": "--memory-fraction",
  "--hf-repo": "--model owner/name",
  "--lora-modules": "--lora",
  "--max-model-len": "--max-seq-len",
  "--max-num-seqs": "--max-seqs",
  "--model-path": "--model",
  "--n-gpu-layers": "--num-device-layers",
  "--ngl": "--num-device-layers",
  "--num-ctx": "--max-seq-len",
  "--parallel": "--max-seqs",
  "--served-model-name": "--alias",
  "--ubatch-size": "--ubatch",
  "-fa": "flash attention is always on",
  "-hf": "--model owner/name",
  "-n": "requests bound their answers: max_tokens",
  "-ngl": "--num-device-layers",
  "-np": "--max-seqs",
  "--flash-attn": "flash attention is always on",
  "--jinja": "chat templates are always used",
  "--temp": "requests choose it: temperature",
  "--temperature": "requests choose it: temperature",
};

/** A hint for what commander complains of, given the words of the command line; "" for none. */
export function hintFor(complaint: string, argv: readonly string[]): string {
  const [, command = ""] = /unknown command '([^']+)'/.exec(complaint) ?? [];
  const commandHint = COMMANDS[command];
  if (commandHint !== undefined) return commandHint;
  const [, unknown = ""] = /unknown option '([^']+)'/.exec(complaint) ?? [];
  if (unknown === "") return "";
  // commander takes -ngl for -n with more flags in the same word.
  const [word = ""] = (argv.find((one) => one.startsWith(unknown)) ?? unknown).split("=");
  const same = FLAGS[word] ?? FLAGS[unknown];
  if (same === undefined) return "svc serve --help-all lists all flags.";
  return same.startsWith("-") ? `Here that is ${same}.` : `${word}: ${same}.`;
}
