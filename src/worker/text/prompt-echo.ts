// Echoed prompts (`echo`): their text and the log probabilities of their tokens.

import { assert } from "../../core/assert.ts";
import type { Backend } from "./backend.ts";
import type { EngineSequence } from "./choice.ts";
import type { Logprobs } from "./logprobs.ts";
import type { PlannedRows } from "./scheduler.ts";

export class PromptEcho {
  private readonly backend: Backend;
  private readonly logprobs: Logprobs;

  constructor(backend: Backend, logprobs: Logprobs) {
    this.backend = backend;
    this.logprobs = logprobs;
  }

  /** The text of a prompt's tokens. */
  text(tokens: Int32Array): string {
    const decoder = new TextDecoder("utf-8", { ignoreBOM: true });
    const text = Array.from(tokens, (token) =>
      decoder.decode(this.backend.tokenBytes(token, false), { stream: true }),
    );
    return text.join("") + decoder.decode();
  }

  /** Records log probabilities of prompt tokens after a pass, before its rows count as computed. */
  score(rows: readonly PlannedRows<EngineSequence>[]): void {
    let row = 0;
    for (const { sequence, count } of rows) {
      if (sequence.scoresPrompt && sequence.computed < sequence.promptTokens)
        this.scoreOne(sequence, row, count);
      row += count;
    }
  }

  private scoreOne(sequence: EngineSequence, row: number, count: number): void {
    const { run, output } = sequence.owner;
    const { logprobs } = run.request;
    assert(logprobs !== undefined, "only requests with logprobs score the prompt");
    for (let i = 0; i < count; i++) {
      const position = sequence.computed + i;
      if (position < sequence.scored) continue;
      if (position === 0) output.noteLogprob(this.logprobs.unscored(sequence.tokenAt(0)));
      if (position + 1 >= sequence.promptTokens) continue;
      output.noteLogprob(this.logprobs.at(row + i, sequence.tokenAt(position + 1), logprobs.top));
    }
    sequence.scored = Math.max(sequence.scored, sequence.computed + count);
    if (sequence.scored === sequence.promptTokens)
      output.echo(this.text(sequence.firstTokens(sequence.promptTokens)));
  }
}
