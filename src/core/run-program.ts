/** What a program has printed, and how it ended. */
export interface Ended {
  readonly out: string;
  readonly err: string;
  readonly code: number;
}

/** Runs a program to its end. An abort kills it and rejects with the signal's reason. `more`: a pipe of core/parent-pipe.ts. */
export async function runProgram(
  words: readonly string[],
  signal: AbortSignal,
  ...more: readonly "pipe"[]
): Promise<Ended> {
  signal.throwIfAborted();
  const child = Bun.spawn([...words], { stdio: ["ignore", "pipe", "pipe", ...more], signal });
  const [out, err, code] = await Promise.all([
    new Response(child.stdout).text(),
    new Response(child.stderr).text(),
    child.exited,
  ]);
  signal.throwIfAborted();
  return { out, err, code };
}
