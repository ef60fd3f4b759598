// POST /v1/agent/approvals/{approval_id}: a user's decision on an action that a run requests.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { ServiceError } from "../../core/error.ts";
import { orNull } from "../../core/schema-fields.ts";
import { APPROVAL_BODY_BYTES_MAX, APPROVAL_MESSAGE_CHARS_MAX } from "../limits.ts";
import { checker } from "../../dialects/shared/check.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";

const ApprovalDecision = Type.Union([Type.Literal("approve"), Type.Literal("deny")], {
  $id: "ApprovalDecision",
  description: "Whether the action may run.",
});

const ApprovalDecisionRequest = Type.Object(
  {
    decision: ApprovalDecision,
    message: orNull(
      Type.String({
        maxLength: APPROVAL_MESSAGE_CHARS_MAX,
        description: "Text for the model when the action is denied.",
      }),
    ),
    remember_for_session: orNull(
      Type.Boolean({ description: "Approve all later actions of the same session too." }),
    ),
  },
  {
    $id: "ApprovalDecisionRequest",
    description: "Decision about an action.",
    additionalProperties: true,
    examples: [{ decision: "approve", remember_for_session: true }],
  },
);

const ApprovalDecisionResponse = Type.Object(
  {
    status: Type.String({
      description:
        "`resolved`; `queued` if the run had not yet reached the action; `not_found` with status 404.",
    }),
  },
  { $id: "ApprovalDecisionResponse", description: "What was decided." },
);

const checkBody = checker(ApprovalDecisionRequest);

/** Approval routes. */
export function approvalRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia().post(
    "/v1/agent/approvals/:approval_id",
    ({ request, params }) => answerApproval(deps, params.approval_id, request),
    {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "answer_approval",
        description:
          "For an action that waits for permission, as a stream has announced it. The decision can hold for the rest of the session.",
        tags: ["Agent"],
        summary: "Approve or deny an action",
        requestBody: components.body(ApprovalDecisionRequest),
        responses: components.answers("Status of the decision.", ApprovalDecisionResponse),
      },
    },
  );
}

async function answerApproval(deps: HttpDeps, id: string, request: Request): Promise<Response> {
  const body = checkBody(await readJsonObject(request, APPROVAL_BODY_BYTES_MAX));
  const status = deps.answerApproval(id, decisionOf(body), callerOf(request));
  if (status !== "not_found") return Response.json({ status });
  const message =
    "no action waits for this approval id: it was already decided, or it expired after five minutes";
  const error = new ServiceError("approval_not_found", message);
  return Response.json({ status, ...error.toBody() }, { status: error.status });
}

function decisionOf(body: Static<typeof ApprovalDecisionRequest>) {
  if (body.decision === "approve")
    return { approved: true, remember: body.remember_for_session ?? false } as const;
  const message = body.message ?? "";
  return { approved: false, ...(message === "" ? {} : { message }) } as const;
}
