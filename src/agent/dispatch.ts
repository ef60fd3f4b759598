// Tools that the operator runs behind a URL: every call that nobody else makes is sent there. Spec: Dispatch URL. The
// address comes from the configuration alone, never from a request.

import type { ToolSpec } from "../core/message.ts";
import { DISPATCH_ANSWER_BYTES_MAX } from "./limits.ts";
import { VERSION } from "../core/version.ts";
import { type ServerTool, ToolFailure } from "./tool.ts";

export interface DispatchOptions {
  readonly url: string;
  /** For the whole exchange. */
  readonly timeoutMs: number;
}

const USER_AGENT = `svc/${VERSION} (tool dispatch)`;

/** A tool of that spec whose calls are sent to the URL. */
export function dispatchedTool(spec: ToolSpec, options: DispatchOptions): ServerTool {
  return {
    spec,
    action: { source: "external", kind: "external", label: spec.name },
    calling: (args) => ({
      tool_type: "custom",
      arguments: typeof args === "string" ? args : JSON.stringify(args),
    }),
    fault: () => undefined, // what is no JSON is sent as it is
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
      throw new ToolFailure(`the tool server answered with HTTP status ${response.status}`);
    }
    return contentOf(await readText(response));
  } catch (cause) {
    if (cause instanceof ToolFailure) throw cause;
    if (timeout.aborted) {
      throw new ToolFailure(`the tool server did not answer within ${timeoutMs / 1000} seconds`, { cause });
    }
    throw new ToolFailure("the tool server could not be reached", { cause });
  }
}

async function readText(response: Response): Promise<string> {
  const decoder = new TextDecoder();
  let text = "";
  let bytes = 0;
  for await (const chunk of response.body ?? []) {
    bytes += chunk.byteLength;
    if (bytes > DISPATCH_ANSWER_BYTES_MAX) {
      throw new ToolFailure(`the tool server's answer is larger than ${DISPATCH_ANSWER_BYTES_MAX} bytes`);
    }
    text += decoder.decode(chunk, { stream: true });
  }
  return text + decoder.decode();
}

/** A JSON object with a text in `content` stands for that text; anything else is the text as a whole. */
function contentOf(body: string): string {
  try {
    const json: unknown = JSON.parse(body);
    if (typeof json === "object" && json !== null && "content" in json && typeof json.content === "string") {
      return json.content;
    }
  } catch {
    // not JSON, so it is text
  }
  return body;
}
