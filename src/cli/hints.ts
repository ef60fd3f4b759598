// Commands and flags of other programs, and svc's equivalents.

/** Commands of other programs. */
const COMMANDS: Readonly<Record<string, string>> = {
  chat: "To chat in the terminal: svc run",
  download: "To download a model: svc pull owner/name",
  start: "To start the server: svc serve",
  up: "To start the server: svc serve",
};

/** Flags of other programs: the same flag here, or an explanation. */
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

/** A hint for an error of commander, given the command line; "" for none. */
export function hintFor(complaint: string, argv: readonly string[]): string {
  const [, command = ""] = /unknown command '([^']+)'/.exec(complaint) ?? [];
  const commandHint = COMMANDS[command];
  if (commandHint !== undefined) return commandHint;
  if (argv[0] === "stop" && complaint.includes("missing required argument"))
    return "svc stop MODEL unloads a model. To end the server: Ctrl-C, or systemctl --user stop svc for its service.";
  const [, unknown = ""] = /unknown option '([^']+)'/.exec(complaint) ?? [];
  if (unknown === "") return "";
  // commander parses -ngl as -n with further flags.
  const [word = ""] = (argv.find((one) => one.startsWith(unknown)) ?? unknown).split("=");
  const same = FLAGS[word] ?? FLAGS[unknown];
  if (same === undefined) return "svc serve --help-all lists all flags.";
  return same.startsWith("-") ? `Here that is ${same}.` : `${word}: ${same}.`;
}
