// Converts adapters in a child process: a conversion reads and writes gigabytes, and must neither delay requests nor crash
// the server.

import { ServiceError } from "../core/error.ts";
import { ownCommand } from "../core/own-command.ts";
import { readGgufHeader } from "../core/gguf-file.ts";
import { codeOf, isFull } from "../core/reason.ts";
import { AdapterError } from "./adapter-error.ts";
import { type Conversion, convertAdapter } from "./convert.ts";

/** Exit code for invalid input; the output is the reason. */
const BAD_INPUT = 3;

/** Exit code for a result that could not be written. */
const NO_STORAGE = 4;

/** Runs a conversion. Throws AdapterError, or ServiceError(adapter_load_failed). */
export async function convertInProcess(conversion: Conversion): Promise<void> {
  const command = [...ownCommand(), "convert-adapter", JSON.stringify(conversion)];
  const child = Bun.spawn(command, {
    stdio: ["ignore", "pipe", "inherit", "pipe"], // the last one: core/parent-pipe.ts
  });
  const [reason, code] = await Promise.all([new Response(child.stdout).text(), child.exited]);
  if (code === 0) return;
  if (code === BAD_INPUT) throw new AdapterError(reason);
  if (code === NO_STORAGE) {
    const message = "the converted adapter could not be stored; the server's log says why";
    throw new ServiceError("adapter_storage_unavailable", message);
  }
  throw new ServiceError(
    "adapter_load_failed",
    "the adapter could not be converted; the server's log says why",
  );
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
      return isStorageError(error) ? NO_STORAGE : 1;
    }
    process.stdout.write(error.message);
    return BAD_INPUT;
  }
}

/** A full disk, an exceeded quota, a read-only file system, a broken disk. */
function isStorageError(error: unknown): boolean {
  return isFull(error) || /^(?:EROFS|EIO)$/.test(codeOf(error));
}
