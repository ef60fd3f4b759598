// Client for the operator's dispatch URL: calls of tools that svc does not implement are POSTed there. Spec: Dispatch URL.
// The URL comes from the configuration only, never from a request.

import type { ToolSpec } from "../core/message.ts";
import { DISPATCH_ANSWER_BYTES_MAX } from "./limits.ts";
import { VERSION } from "../core/version.ts";
import { boundedText } from "../core/bounded-body.ts";
import { isObject, jsonIn } from "../core/json.ts";
import { type ServerTool, ToolFailure } from "./tool.ts";

export interface DispatchOptions {
  readonly url: string;
  /** For request and response together. */
  readonly timeoutMs: number;
}

const WHATEVER = "whatever the operator's tool server can reach: it runs outside the sandbox";
const REACH = { files: WHATEVER, network: WHATEVER };

const USER_AGENT = `svc/${VERSION} (tool dispatch)`;

/** A tool whose calls are sent to the dispatch URL. */
export function dispatchedTool(spec: ToolSpec, options: DispatchOptions): ServerTool {
  return {
    spec,
    action: { source: "external", kind: "external", label: spec.name, reach: REACH },
    calling: (args) => ({
      tool_type: "custom",
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    }),
    fault: () => undefined, // arguments that are not JSON are sent as text
    async run(args, _context, signal) {
      const text = await send(spec.name, args, options, signal);
      return { text, data: { tool_type: "custom", content: text } };
    },
  };
}

async function send(
  name: string,
  args: unknown,
  { url, timeoutMs }: DispatchOptions,
  signal: AbortSignal,
): Promise<string> {
  const timeout = AbortSignal.timeout(timeoutMs);
  try {
    const response = await fetch(url, {
      method: "POST",
      headers: { "content-type": "application/json", "user-agent": USER_AGENT },
      body: JSON.stringify({ name, arguments: args }),
      signal: AbortSignal.any([signal, timeout]),
    });
    if (!response.ok) {
      void response.body?.cancel();
      throw new ToolFailure(`the tool server responded with HTTP status ${response.status}`);
    }
    return contentOf(await boundedText(response.body, DISPATCH_ANSWER_BYTES_MAX, tooLarge));
  } catch (cause) {
    if (cause instanceof ToolFailure) throw cause;
    if (timeout.aborted) {
      throw new ToolFailure(`the tool server did not answer within ${timeoutMs / 1000} seconds`, { cause });
    }
    throw new ToolFailure("the tool server could not be reached", { cause });
  }
}

const tooLarge = (): Error =>
  new ToolFailure(`the tool server's response is larger than ${DISPATCH_ANSWER_BYTES_MAX} bytes`);

/** The string `content` of a JSON object, else the whole body. */
function contentOf(body: string): string {
  const json = jsonIn(body);
  return isObject(json) && typeof json["content"] === "string" ? json["content"] : body;
}
