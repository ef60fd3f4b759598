// Converts adapters in a process of their own: a conversion reads and writes up to gigabytes, and must neither hold up
// requests nor take the server down.

import { ServiceError } from "../core/error.ts";
import { ownCommand } from "../core/own-command.ts";
import { readHeader } from "../gguf/header.ts";
import { AdapterError } from "./adapter-error.ts";
import { convertAdapter } from "./convert.ts";

/** Exit code of a conversion whose input was at fault; the reason is what it has printed. */
const BAD_INPUT = 3;

/** Converts a folder for a base model and writes `output`. Throws AdapterError, or ServiceError(adapter_load_failed). */
export async function convertInProcess(folder: string, baseModel: string, output: string): Promise<void> {
  const child = Bun.spawn([...ownCommand(), "convert-adapter", folder, baseModel, output], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [reason, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code === 0) return;
  if (code === BAD_INPUT) throw new AdapterError(reason);
  throw new ServiceError("adapter_load_failed", "the adapter could not be converted; the log says why");
}

/** Entry of the hidden command. Returns the exit code. */
export function convertMain([folder = "", baseModel = "", output = ""]: readonly string[]): number {
  try {
    convertAdapter(folder, readHeader(baseModel), output);
    return 0;
  } catch (error) {
    if (!(error instanceof AdapterError)) {
      console.error("convert-adapter:", error);
      return 1;
    }
    process.stdout.write(error.message);
    return BAD_INPUT;
  }
}
