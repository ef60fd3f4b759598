// What running tools say of their progress, until the client is shown it: the latest message of each call.

import type { AgentEvent, ToolCallAt } from "../core/agent.ts";

export class Reports {
  private readonly latest = new Map<string, AgentEvent>();
  private arrived = Promise.withResolvers<void>();

  add(at: ToolCallAt, message: string): void {
    if (message === "") return;
    this.latest.set(at.callId, { type: "tool_progress", ...at, message });
    this.arrived.resolve();
  }

  /** Yields messages until the work, which never rejects, is done. */
  async *during<T>(work: Promise<T>): AsyncGenerator<AgentEvent, T> {
    let isDone = false;
    const done = work.then(() => void (isDone = true));
    for (;;) {
      await Promise.race([done, this.arrived.promise]);
      yield* this.take();
      if (isDone) return work;
    }
  }

  private take(): readonly AgentEvent[] {
    const taken = [...this.latest.values()];
    this.latest.clear();
    this.arrived = Promise.withResolvers();
    return taken;
  }
}
