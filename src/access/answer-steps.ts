// The steps of an answer as spans, read off its events: the prompt (rendering, waiting, loading), prefill, decode, and the tools that
// the server ran in between. Names and attributes follow OpenTelemetry's conventions for generative AI.

import type { AnswerEvent } from "../core/agent.ts";
import type { RequestTrace, SpanValue } from "../core/tracing.ts";
import type { Spent } from "../core/usage.ts";

export class AnswerSteps {
  private readonly trace: RequestTrace;
  private readonly model: string;
  private readonly chat: string;
  private readonly startMs = performance.now();
  private readonly tools = new Map<string, number>(); // since when they run, by call
  private readonly reasons: string[] = [];
  private acceptedMs: number | undefined;
  private firstMs: number | undefined;
  private error: string | undefined;

  constructor(trace: RequestTrace, model: string) {
    this.trace = trace;
    this.model = model;
    this.chat = `chat ${model}`;
  }

  take(event: AnswerEvent): void {
    if (event.type === "text" || event.type === "reasoning" || event.type === "tool_call_start")
      this.firstMs ??= this.prefilled();
    else if (event.type === "accepted") this.accepted();
    else if (event.type === "choice_end") this.reasons.push(event.reason);
    else if (event.type === "tool_calling") this.tools.set(event.callId, performance.now());
    else if (event.type === "tool_complete") this.ran(event);
    else if (event.type === "error") this.error = event.error.code;
  }

  /** The answer is over, and has taken this. */
  end(spent: Spent): void {
    const endMs = performance.now();
    if (this.firstMs !== undefined) this.step("decode", this.firstMs, endMs);
    this.trace.add({
      name: this.chat,
      startMs: this.startMs,
      endMs,
      attributes: {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": "svc",
        "gen_ai.request.model": this.model,
        "gen_ai.usage.input_tokens": spent.promptTokens,
        "gen_ai.usage.output_tokens": spent.completionTokens,
        "gen_ai.response.finish_reasons": this.reasons,
        "svc.cached_tokens": spent.cachedTokens,
      },
      ...(this.error === undefined ? {} : { error: this.error }),
    });
  }

  private accepted(): void {
    if (this.acceptedMs !== undefined) return;
    this.acceptedMs = performance.now();
    this.step("prompt", this.startMs, this.acceptedMs);
  }

  private prefilled(): number {
    const nowMs = performance.now();
    this.step("prefill", this.acceptedMs ?? this.startMs, nowMs);
    return nowMs;
  }

  private ran({ callId, toolName, data }: Extract<AnswerEvent, { type: "tool_complete" }>): void {
    const endMs = performance.now();
    const startMs = this.tools.get(callId) ?? endMs;
    this.tools.delete(callId);
    const attributes = {
      "gen_ai.operation.name": "execute_tool",
      "gen_ai.tool.name": toolName,
      "gen_ai.tool.call.id": callId,
      "svc.tool.type": data.tool_type, // code_execution and shell run in the sandbox, custom ones elsewhere: MCP, a dispatch URL
    };
    this.step(`execute_tool ${toolName}`, startMs, endMs, attributes);
  }

  // oxlint-disable-next-line max-params
  private step(
    name: string,
    startMs: number,
    endMs: number,
    attributes?: Readonly<Record<string, SpanValue>>,
  ): void {
    this.trace.add({
      name,
      startMs,
      endMs,
      parent: this.chat,
      ...(attributes === undefined ? {} : { attributes }),
    });
  }
}
