// Converts adapters in a process of their own: a conversion reads and writes up to gigabytes, and must neither hold up
// requests nor take the server down.

import { ServiceError } from "../core/error.ts";
import { ownCommand } from "../core/own-command.ts";
import { readGgufHeader } from "../core/gguf.ts";
import { AdapterError } from "./adapter-error.ts";
import { type Conversion, convertAdapter } from "./convert.ts";

/** Exit code of a conversion whose input was at fault; the reason is what it has printed. */
const BAD_INPUT = 3;

/** Does a conversion. Throws AdapterError, or ServiceError(adapter_load_failed). */
export async function convertInProcess(conversion: Conversion): Promise<void> {
  const command = [...ownCommand(), "convert-adapter", JSON.stringify(conversion)];
  const child = Bun.spawn(command, {
    stdio: ["ignore", "pipe", "inherit", "pipe"], // the last one: core/parent-pipe.ts
  });
  const [reason, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code === 0) return;
  if (code === BAD_INPUT) throw new AdapterError(reason);
  throw new ServiceError("adapter_load_failed", "the adapter could not be converted; the log says why");
}

/** Entry of the hidden command. Returns the exit code. */
export function convertMain([request = ""]: readonly string[]): number {
  try {
    const { folders, baseModel, output, mayLink }: Conversion = JSON.parse(request);
    convertAdapter(folders, readGgufHeader(baseModel), output, mayLink);
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
