// Tokens of what is embedded or ranked.

import type { LlamaBackend } from "../../ffi/llama/llama.ts";
import type { EmbedInput } from "../../src/worker/text/embed-backend.ts";

/** What an input comes to as tokens; the embedding context itself tokenizes. */
export function embedTokens(backend: LlamaBackend, input: EmbedInput): Int32Array {
  const pending = backend.embedder().tokenize(input);
  for (;;) {
    const prompt = pending.take(10);
    if (prompt === undefined) continue;
    const tokens = prompt.tokens.slice();
    prompt.free();
    return tokens;
  }
}
