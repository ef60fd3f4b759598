// A server whose model runs exactly the Python that a question holds: an upstream that calls the tool with the question's text.

import { expect } from "bun:test";
import { join } from "node:path";
import { newFolder, type Server, startServer } from "./binary.ts";
import { chunk, fakeUpstream } from "./fake-upstream.ts";

export interface CodeServer {
  readonly server: Server;
  /** What came of the code, as the client sees it. */
  run(code: string, body?: object, headers?: Readonly<Record<string, string>>): Promise<string>;
}

/** Starts it for one test. */
export async function startCodeServer(args: readonly string[] = []): Promise<CodeServer> {
  const upstream = fakeUpstream();
  upstream.behaviour = ({ body }) => {
    const [last] = (body["messages"] as { role: string; content: unknown }[]).slice(-1);
    if (last?.role !== "user") return { type: "answer" };
    const call = { name: "svc_execute_python", arguments: JSON.stringify({ code: last.content }) };
    const calls = [{ index: 0, id: "c", type: "function", function: call }];
    return { type: "answer", chunks: [chunk({ tool_calls: calls }), chunk({}, "tool_calls")] };
  };
  const file = join(newFolder(), "svc.toml");
  const entry = `[[models]]\nmodel_id = "m"\nkind = "upstream"\n[[models.upstreams]]\nurl = "${upstream.url}"\n`;
  await Bun.write(file, entry);
  const server = await startServer([file, "--enable-code-execution", ...args]);
  return {
    server,
    run: async (code, body = {}, headers = {}) => {
      const messages = [{ role: "user", content: code }];
      const response = await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        headers: { "content-type": "application/json", ...headers },
        body: JSON.stringify({ messages, tools: [{ type: "code_interpreter" }], ...body }),
      });
      const answer = await response.json();
      expect(response.status, JSON.stringify(answer)).toBe(200);
      return answer.agentic_tool_calls[0].result_content;
    },
  };
}
