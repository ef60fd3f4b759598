// Permission: the stricter of server and request, and the user's approval of each action.

import { describe, expect, test } from "bun:test";
import { Approvals } from "../../src/agent/approvals.ts";
import type { AnswerEvent, ApprovalScope, Permission } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { defined } from "../../src/core/defined.ts";
import { asking, calling, fakeTool, lastText, saying, scripted, testLoop } from "../helpers/agent.ts";

const signal = new AbortController().signal;

/** What the model was told of its one call. */
function told(requests: ReturnType<typeof scripted>["requests"]): unknown {
  const text = lastText(requests[1]);
  return text.startsWith("{") ? JSON.parse(text) : text;
}

describe("the stricter of server and request counts", () => {
  test.each<[Permission, Permission | undefined, "runs" | "asks" | "denies"]>([
    ["auto", undefined, "runs"],
    ["auto", "auto", "runs"],
    ["auto", "ask", "asks"],
    ["auto", "deny", "denies"],
    ["ask", undefined, "asks"],
    ["ask", "auto", "asks"],
    ["ask", "deny", "denies"],
    ["deny", undefined, "denies"],
    ["deny", "auto", "denies"],
    ["deny", "ask", "denies"],
  ])("server %p, request %p: %s", async (server, request, outcome) => {
    const tool = fakeTool();
    const { generate } = scripted(calling(["svc_fake", {}]), saying("ok"));
    const loop = testLoop({ generate, tools: [tool], permission: server });
    let asked = false;
    for await (const event of loop.converse(asking(defined({ permission: request })), signal, SERVER)) {
      if (event.type !== "approval_required") continue;
      asked = true;
      loop.approvals.answer(event.approvalId, { approved: true, remember: false }, SERVER);
    }
    expect({ asked, ran: tool.made.length > 0 }).toEqual({
      asked: outcome === "asks",
      ran: outcome !== "denies",
    });
  });
});

test("the model and the client are notified of a denial by policy", async () => {
  const { generate, requests } = scripted(calling(["svc_fake", {}]), saying("ok"));
  const events = await testLoop({ generate, tools: [fakeTool()], permission: "deny" }).answer(asking());
  const denial = { status: "denied", exception: "Fake was denied by policy." };
  expect(told(requests)).toEqual(denial);
  expect(events.filter(({ type }) => type.startsWith("tool_"))).toMatchObject([
    { type: "tool_calling" },
    { type: "tool_complete", data: { tool_type: "custom", content: JSON.stringify(denial) } },
  ]);
});

test("invalid arguments request no approval", async () => {
  const { generate } = scripted(calling(["svc_fake", {}]), saying("ok"));
  const tools = [fakeTool({ fault: () => "wrong" })];
  const events = await testLoop({ generate, tools, permission: "ask" }).answer(asking());
  expect(events.map(({ type }) => type)).not.toContain("approval_required");
});

test("without a streamed answer, an action that needs approval is denied with the reason", async () => {
  const tool = fakeTool();
  const { generate, requests } = scripted(calling(["svc_fake", {}]), saying("ok"));
  const loop = testLoop({ generate, tools: [tool], permission: "ask" });
  const events = await loop.answer(asking({ interactive: false }));
  expect(tool.made).toEqual([]);
  expect(events.map(({ type }) => type)).not.toContain("approval_required");
  expect(told(requests)).toMatchObject({
    status: "denied",
    exception: expect.stringContaining("streamed answer"),
  });
});

describe("approval requests", () => {
  const start = (options: { readonly rounds?: number; readonly approvals?: Approvals } = {}) => {
    const { rounds = 1, approvals = new Approvals() } = options;
    const tool = fakeTool();
    const passes = Array.from({ length: rounds }, () => calling(["svc_fake", { a: 1 }]));
    const { generate, requests } = scripted(...passes, saying("ok"));
    const loop = testLoop({ generate, tools: [tool], permission: "ask", approvals });
    return { ...loop, approvals, tool, requests };
  };

  /** Reads up to the question. */
  async function question(events: AsyncIterator<AnswerEvent>) {
    for (;;) {
      const { value, done } = await events.next();
      if (done === true) throw new Error("nothing was asked");
      if (value.type === "approval_required") return value;
    }
  }

  const rest = (events: AsyncIterator<AnswerEvent>) =>
    Array.fromAsync({ [Symbol.asyncIterator]: () => events });

  test("the event describes the action, after the call and before it runs", async () => {
    const { converse, approvals, tool } = start();
    const events = converse(asking({ sessionId: "s" }), signal, SERVER)[Symbol.asyncIterator]();
    const asked = await question(events);
    expect(asked).toEqual({
      type: "approval_required",
      approvalId: expect.stringMatching(/^appr_[0-9a-f]{32}$/),
      sessionId: "s",
      round: 1,
      tool: {
        source: "built_in",
        kind: "custom",
        label: "Fake",
        reach: { files: "none", network: "none" },
      },
      arguments: { a: 1 },
    });
    expect(tool.made).toEqual([]);
    approvals.answer(asked.approvalId, { approved: true, remember: false }, SERVER);
    await rest(events);
    expect(tool.made).toEqual([{ a: 1 }]);
  });

  test("a decision before the run waits is queued; during the wait it resolves", async () => {
    const { converse, approvals } = start({ rounds: 2 });
    const events = converse(asking(), signal, SERVER)[Symbol.asyncIterator]();
    const yes = { approved: true, remember: false } as const;
    const first = await question(events);
    expect(approvals.answer(first.approvalId, yes, SERVER)).toBe("queued"); // the run goes on when it is asked for more
    const second = await question(events);
    const waiting = rest(events);
    expect(approvals.answer(second.approvalId, yes, SERVER)).toBe("resolved");
    await waiting;
  });

  test("only the API key of the request may decide; a missing key does not match", async () => {
    const callerOf = (owner: string | undefined) => ({
      client: "c",
      ...defined({ owner }),
    });
    const { converse, approvals, tool } = start();
    const events = converse(asking(), signal, callerOf("mine"))[Symbol.asyncIterator]();
    const { approvalId } = await question(events);
    const yes = { approved: true, remember: false } as const;
    for (const owner of ["another", undefined]) {
      expect(approvals.answer(approvalId, yes, callerOf(owner))).toBe("not_found");
    }
    expect(approvals.answer(approvalId, yes, callerOf("mine"))).toBe("queued");
    await rest(events);
    expect(tool.made.length).toBe(1);
  });

  test.each<[ApprovalScope, readonly string[], number]>([
    ["session", ["a", "b"], 1],
    ["tool", ["a", "b"], 1],
    ["action", ["a", "b", "a"], 2],
  ])("what is remembered covers the %s", async (approvalScope, words, asks) => {
    const tool = fakeTool();
    const passes = words.map((word) => calling(["svc_fake", { word }]));
    const { generate } = scripted(...passes, saying("ok"));
    const loop = testLoop({ generate, tools: [tool], permission: "ask", approvalScope });
    let asked = 0;
    for await (const event of loop.converse(asking({ sessionId: "s" }), signal, SERVER)) {
      if (event.type !== "approval_required") continue;
      asked++;
      loop.approvals.answer(event.approvalId, { approved: true, remember: true }, SERVER);
    }
    expect({ asked, made: tool.made.length }).toEqual({ asked: asks, made: words.length });
  });

  test("with scope tool, another tool of the session needs its own approval", async () => {
    const tools = [fakeTool(), fakeTool({ name: "svc_other" })];
    const { generate } = scripted(calling(["svc_fake", {}]), calling(["svc_other", {}]), saying("ok"));
    const loop = testLoop({ generate, tools, permission: "ask", approvalScope: "tool" });
    let asked = 0;
    for await (const event of loop.converse(asking({ sessionId: "s" }), signal, SERVER)) {
      if (event.type !== "approval_required") continue;
      asked++;
      loop.approvals.answer(event.approvalId, { approved: true, remember: true }, SERVER);
    }
    expect(asked).toBe(2);
  });

  test("the first decision counts; then the id is unknown", async () => {
    const { converse, approvals, tool } = start();
    const events = converse(asking(), signal, SERVER)[Symbol.asyncIterator]();
    const { approvalId } = await question(events);
    expect(approvals.answer(approvalId, { approved: false }, SERVER)).toBe("queued");
    expect(approvals.answer(approvalId, { approved: true, remember: true }, SERVER)).toBe("not_found");
    await rest(events);
    expect(tool.made).toEqual([]);
  });

  test.each([
    [{ approved: false, message: "Not on a Sunday." } as const, "Not on a Sunday."],
    [{ approved: false } as const, "Agent action was denied."],
  ])("%j is told to the model", async (decision, exception) => {
    const { converse, approvals, requests } = start();
    const events = converse(asking(), signal, SERVER)[Symbol.asyncIterator]();
    approvals.answer((await question(events)).approvalId, decision, SERVER);
    await rest(events);
    expect(told(requests)).toEqual({ status: "denied", exception });
  });

  test("a remembered approval applies to the whole session", async () => {
    const { converse, approvals, tool, sessions } = start({ rounds: 2 });
    const events = converse(asking({ sessionId: "s" }), signal, SERVER)[Symbol.asyncIterator]();
    approvals.answer((await question(events)).approvalId, { approved: true, remember: true }, SERVER);
    const later = await rest(events);
    expect(later.map(({ type }) => type)).not.toContain("approval_required");
    expect(tool.made).toHaveLength(2);
    expect([...sessions.trusted]).toEqual(["s *"]);
  });

  test("without remember, each action needs approval", async () => {
    const { converse, approvals } = start({ rounds: 2 });
    const events = converse(asking(), signal, SERVER)[Symbol.asyncIterator]();
    const yes = { approved: true, remember: false } as const;
    const first = await question(events);
    approvals.answer(first.approvalId, yes, SERVER);
    const second = await question(events);
    expect(second.approvalId).not.toBe(first.approvalId);
    expect(second.round).toBe(2);
    approvals.answer(second.approvalId, yes, SERVER);
    await rest(events);
  });

  test("after the timeout: denied, and the id is unknown", async () => {
    const { converse, approvals, requests } = start({ approvals: new Approvals(1) });
    const events = converse(asking(), signal, SERVER)[Symbol.asyncIterator]();
    const { approvalId } = await question(events);
    await rest(events);
    expect(told(requests)).toEqual({ status: "denied", exception: "Approval timed out." });
    expect(approvals.answer(approvalId, { approved: true, remember: false }, SERVER)).toBe("not_found");
  });

  test("a disconnect during the wait ends the run, and the id is unknown", async () => {
    const client = new AbortController();
    const { converse, approvals, tool, requests } = start();
    const events = converse(asking(), client.signal, SERVER)[Symbol.asyncIterator]();
    const { approvalId } = await question(events);
    const last = rest(events);
    client.abort();
    expect(await last).toEqual([]);
    expect(approvals.answer(approvalId, { approved: true, remember: false }, SERVER)).toBe("not_found");
    expect(tool.made).toEqual([]);
    expect(requests).toHaveLength(1);
  });

  test("a stopping server denies pending and new actions", async () => {
    const { converse, approvals, requests, tool } = start({ rounds: 2 });
    const events = converse(asking(), signal, SERVER)[Symbol.asyncIterator]();
    await question(events);
    approvals.close();
    const later = await rest(events);
    expect(later.filter(({ type }) => type === "approval_required")).toHaveLength(1);
    expect(tool.made).toEqual([]);
    expect(told(requests)).toEqual({ status: "denied", exception: "The server is stopping." });
  });

  test("an event that is not read leaves no pending approval", async () => {
    const { converse, approvals, tool } = start();
    const events = converse(asking(), signal, SERVER)[Symbol.asyncIterator]();
    const { approvalId } = await question(events);
    await events.return?.(undefined);
    expect(approvals.answer(approvalId, { approved: true, remember: false }, SERVER)).toBe("not_found");
    expect(tool.made).toEqual([]);
  });
});
