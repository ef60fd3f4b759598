import { describe, expect, test } from "bun:test";
import { plainConverse } from "../../src/agent/plain.ts";
import { ServiceError } from "../../src/core/error.ts";
import { parseChatRequest } from "../../src/dialects/chat/request.ts";
import { chatBody } from "../helpers/app.ts";
import { answer, playing } from "../helpers/run-events.ts";
import type { Body } from "../helpers/rules.ts";

const converse = plainConverse(playing(answer("Hi")).generate);

function refusal(extra: Body): ServiceError {
  const { run, agent } = parseChatRequest(chatBody(extra));
  try {
    converse({ run, agent }, new AbortController().signal);
  } catch (error) {
    if (error instanceof ServiceError) return error;
    throw error;
  }
  throw new Error("the request was accepted");
}

describe("a server without tools says what it has not", () => {
  test.each<[Body, string]>([
    [{ tools: [{ type: "code_interpreter" }] }, "tools"],
    [{ web_search_options: {} }, "web_search_options"],
    [{ session_id: "s" }, "session_id"],
    [{ files: [{ name: "a.csv" }] }, "files"],
    [
      { messages: [{ role: "user", content: [{ type: "file", file: { file_id: "file-1" } }] }] },
      "messages[0].content[0]",
    ],
  ])("%j", (extra, param) => {
    const { code, message, param: named } = refusal(extra);
    expect({ code, named }).toEqual({ code: "capability_disabled", named: param });
    expect(message).toContain("not enabled");
  });
});
