// Mistakes of the command line that show only when something starts. The others are in test/cli/mistakes.test.ts.

import { expect, test } from "bun:test";
import { copyFileSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, runBinary, TINY_FILE } from "../helpers/binary.ts";

const cwd = newFolder();
copyFileSync(TINY_FILE, join(cwd, "m.gguf"));
writeFileSync(join(cwd, "notes.txt"), "hello");
mkdirSync(join(cwd, "empty"));
/** A folder as transformers writes it, without weights that anything reads. */
function safetensors(name: string, architecture: string): void {
  mkdirSync(join(cwd, name));
  writeFileSync(join(cwd, name, "config.json"), JSON.stringify({ architectures: [architecture] }));
  writeFileSync(join(cwd, name, "model.safetensors"), "");
}
safetensors("weights", "LlamaForCausalLM");
safetensors("strange", "StrangeForCausalLM");

test.each([
  // command line, exit code, what is wrong and where, how to fix it
  ["serve --host no-such-host.invalid --port 0", 1, "the host name is unknown", "--host 0.0.0.0"],
  ["serve --host 192.0.2.1 --port 0", 1, "192.0.2.1 is not an address of this machine", "--host 0.0.0.0"],
  ["run -m m.gguf --attach absent.txt Hi", 2, "no such file: absent.txt", ""],
  ["run -m m.gguf --image notes.txt Hi", 2, "notes.txt", "PNG"],
  ["run -m m.gguf", 2, "no prompt", "-i"],
  ["ps --port 9", 1, "No server answers at http://127.0.0.1:9", "svc serve"],
  ["rm owner/name", 1, "no model owner/name", "svc cache list"],
  ["quantize m.gguf Q9", 2, '"Q9" is not a type', "Q4_K_M"],
  ["quantize m.gguf IQ2_XXS", 2, "needs an importance matrix", "--imatrix"],
  ["quantize m.gguf Q8_0 -o m.gguf", 2, "m.gguf exists", "--output"],
  ["convert empty", 2, "empty is not a model in safetensors", "config.json and *.safetensors"],
  ["convert absent", 2, "absent: there is no such folder", "owner/name"],
  ["convert m.gguf", 2, "m.gguf is a file", "svc quantize"],
  ["convert weights Q9", 2, '"Q9" is not a type', "Q4_K_M"],
  ["convert weights IQ2_XXS", 2, "needs an importance matrix", "--imatrix"],
  ["convert weights -o m.gguf", 2, "m.gguf exists", "--output"],
  ["convert strange", 1, "does not support the architecture StrangeForCausalLM", ""],
  ["convert weights --python no-such-python", 1, "there is no Python no-such-python", "--python"],
  ["serve -m weights", 2, "there is no GGUF file in it", "svc convert"],
  ["bench -m m.gguf --prompt-len 999999", 1, "context holds 4096 tokens", ""],
  ["login", 2, "no token", "pipe it in"],
])("svc %s", async (line, code, what, fix) => {
  const { exit, err } = await runBinary(line.split(" "), { cwd });
  expect(err).toContain(what);
  expect(err).toContain(fix);
  expect(exit).toBe(code);
});
