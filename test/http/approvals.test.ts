// POST /v1/agent/approvals/{approval_id}.

import { describe, expect, test } from "bun:test";
import { Approvals } from "../../src/agent/approvals.ts";
import type { Decision } from "../../src/core/agent.ts";
import { SERVER } from "../../src/core/caller.ts";
import { defined } from "../../src/core/defined.ts";
import { testApp } from "../helpers/app.ts";

const signal = new AbortController().signal;

function setUp() {
  const approvals = new Approvals();
  const app = testApp(undefined, { answerApproval: approvals.answer });
  const post = (id: string, body: unknown) => app.post(`/v1/agent/approvals/${id}`, body);
  return { approvals, app, post };
}

test.each<[object, Decision]>([
  [{ decision: "approve" }, { approved: true, remember: false }],
  [
    { decision: "approve", remember_for_session: true, message: "x" },
    { approved: true, remember: true },
  ],
  [
    { decision: "approve", remember_for_session: null, message: null },
    { approved: true, remember: false },
  ],
  [{ decision: "deny" }, { approved: false }],
  [{ decision: "deny", message: "" }, { approved: false }],
  [
    { decision: "deny", message: "no", remember_for_session: true },
    { approved: false, message: "no" },
  ],
])("%j", async (body, decision) => {
  const { approvals, post } = setUp();
  const pending = approvals.open(SERVER);
  const decided = pending.decision(signal);
  const response = await post(pending.id, body);
  expect(response.status).toBe(200);
  expect(await response.json()).toEqual({ status: "resolved" });
  expect(await decided).toEqual(decision);
});

test("an answer before the run waits is queued", async () => {
  const { approvals, post } = setUp();
  const pending = approvals.open(SERVER);
  expect(await (await post(pending.id, { decision: "approve" })).json()).toEqual({ status: "queued" });
  expect(await pending.decision(signal)).toEqual({ approved: true, remember: false });
});

test("an unknown and an answered id are not found, in both ways of saying so", async () => {
  const { approvals, post } = setUp();
  const { id } = approvals.open(SERVER);
  await post(id, { decision: "deny" });
  for (const unknown of [id, "appr_0"]) {
    const response = await post(unknown, { decision: "approve" });
    expect(response.status).toBe(404);
    expect(await response.json()).toEqual({
      status: "not_found",
      error: { code: "approval_not_found", message: expect.any(String), type: "not_found_error" },
    });
  }
});

describe("a wrong body leaves the action waiting", () => {
  test.each([
    [{}, 400, "missing_field", "decision"],
    [{ decision: "yes" }, 400, "unsupported_value", "decision"],
    [{ decision: "Approve" }, 400, "unsupported_value", "decision"],
    [{ decision: "deny", message: 5 }, 400, "invalid_request", "message"],
    [{ decision: "deny", message: "x".repeat(5000) }, 400, "invalid_request", "message"],
    [{ decision: "approve", remember_for_session: "yes" }, 400, "invalid_request", "remember_for_session"],
    [{ decision: "deny", message: "x".repeat(1_100_000) }, 413, "payload_too_large", undefined],
  ])("%#", async (body, status, code, param) => {
    const { approvals, post } = setUp();
    const pending = approvals.open(SERVER);
    const response = await post(pending.id, body);
    expect(response.status).toBe(status);
    expect(await response.json()).toMatchObject({
      error: { code, ...defined({ param }) },
    });
    expect(approvals.answer(pending.id, { approved: false }, SERVER)).toBe("queued");
  });

  test("of another type", async () => {
    const { approvals, app } = setUp();
    const { id, forget } = approvals.open(SERVER);
    const init = { method: "POST", headers: { "content-type": "text/plain" }, body: "approve" };
    expect((await app.request(`/v1/agent/approvals/${id}`, init)).status).toBe(415);
    forget();
  });
});
