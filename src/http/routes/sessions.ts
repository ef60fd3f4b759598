// /v1/sessions/{id}: export, import and deletion of a session.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import type { FileObject } from "../../core/agent.ts";
import { ServiceError } from "../../core/error.ts";
import type { Files, StoredFile } from "../../core/files.ts";
import { newId } from "../../core/id.ts";
import { FILE_INLINE_BYTES_MAX } from "../../core/limits.ts";
import type { Message } from "../../core/message.ts";
import { SESSION_EXPORT_BYTES_MAX } from "../limits.ts";
import { SESSION_FILES_MAX, SESSION_ID_CHARS_MAX } from "../../dialects/shared/limits.ts";
import { checker } from "../../dialects/shared/check.ts";
import { parseSession, sessionBody } from "../../dialects/sessions/codec.ts";
import { SerializedSession } from "../../dialects/sessions/schema.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";

const SessionObject = Type.Object(
  { id: Type.String({ description: "Id of the session." }), object: Type.Literal("session") },
  { $id: "SessionObject", description: "An imported session." },
);

const DeletedSession = Type.Object(
  {
    id: Type.String({ description: "Id of the session." }),
    object: Type.Literal("session.deleted"),
    deleted: Type.Literal(true),
  },
  { $id: "DeletedSession", description: "A session that was deleted." },
);

const SessionFork = Type.Object(
  {
    turn: Type.Optional(
      Type.Integer({
        minimum: 0,
        description:
          "The last turn to keep, with its answer and files: 0 is the user's first message. Absent: all turns.",
      }),
    ),
    session_id: Type.Optional(
      Type.String({
        minLength: 1,
        maxLength: SESSION_ID_CHARS_MAX,
        description: "Id of the new session; a generated one where absent.",
      }),
    ),
  },
  {
    $id: "SessionFork",
    description: "Where to fork a session.",
    additionalProperties: false,
    examples: [{ turn: 1, session_id: "trip-by-train" }],
  },
);

const ForkedSession = Type.Object(
  {
    id: Type.String({ description: "Id of the new session." }),
    object: Type.Literal("session"),
    forked_from: Type.String({ description: "Id of the session it continues." }),
    turn: Type.Integer({ description: "Last turn that it has.", minimum: 0 }),
  },
  { $id: "ForkedSession", description: "A session that was forked." },
);

const checkFork = checker(SessionFork);

const tags = ["Sessions"];
const path = "/v1/sessions/:session_id";

/** Session routes. */
export function sessionRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .get(path, ({ request, params }) => exported(ownOf(deps, request), params.session_id), {
      detail: {
        operationId: "export_session",
        description: "Messages and hidden turns, in the form that an import takes.",
        tags,
        summary: "Export a session with its files",
        responses: components.answers("The session.", SerializedSession),
      },
    })
    .put(path, ({ params, request }) => imported(deps, params.session_id, request), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "import_session",
        description: "The next request with this `session_id` continues it.",
        tags,
        summary: "Import a session; replaces one of the same id",
        requestBody: components.body(SerializedSession),
        responses: components.answers("The imported session.", SessionObject),
      },
    })
    .post(`${path}/fork`, ({ params, request }) => forked(deps, params.session_id, request), {
      parse: "none",
      detail: {
        operationId: "fork_session",
        description: "Both sessions go on independently.",
        tags,
        summary: "Continue a session from one of its turns, with an interpreter and folder of its own",
        requestBody: components.body(SessionFork),
        responses: components.answers("The new session.", ForkedSession),
      },
    })
    .delete(path, ({ request, params }) => removed(ownOf(deps, request).sessions, params.session_id), {
      detail: {
        operationId: "delete_session",
        description: "Ends its interpreter and removes its folder too.",
        tags,
        summary: "Delete a session; succeeds if it does not exist",
        responses: components.answers("The session does not exist any more.", DeletedSession),
      },
    });
}

/** The sessions and files of a request's caller. */
interface Own {
  readonly sessions: ReturnType<HttpDeps["sessions"]>;
  readonly files: Files;
}

function ownOf(deps: HttpDeps, request: Request): Own {
  const caller = callerOf(request);
  return { sessions: deps.sessions(caller), files: deps.files(caller) };
}

async function exported({ sessions, files }: Own, id: string): Promise<Response> {
  const messages = messagesOf(sessions, id);
  return Response.json(sessionBody(messages, await filesOf(files, sessions.keyOf(id))));
}

/** Throws `session_not_found`. */
function messagesOf(sessions: Own["sessions"], id: string): readonly Message[] {
  const messages = sessions.get(id);
  if (messages !== undefined) return messages;
  const shown = JSON.stringify(id.slice(0, 64));
  throw new ServiceError(
    "session_not_found",
    `there is no session ${shown}; sessions expire after 30 idle minutes`,
  );
}

/** The session's files, oldest first. The youngest have their bodies, as many as an import can take. */
async function filesOf(files: Files, key: string): Promise<readonly FileObject[]> {
  let bytes = 0;
  const isTooMuch = (file: StoredFile): boolean => {
    bytes += Math.min(file.bytes, FILE_INLINE_BYTES_MAX);
    return bytes > SESSION_EXPORT_BYTES_MAX;
  };
  const youngestFirst = files.list(key).toReversed().slice(0, SESSION_FILES_MAX);
  const objects: FileObject[] = [];
  for (const file of youngestFirst) objects.push(await files.object(file, !isTooMuch(file)));
  return objects.toReversed();
}

async function imported(deps: HttpDeps, id: string, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  if (id.length > SESSION_ID_CHARS_MAX) {
    const message = `the session id must have at most ${SESSION_ID_CHARS_MAX} characters`;
    throw new ServiceError("invalid_request", message, { param: "session_id" });
  }
  const { messages, files } = parseSession(await readJsonObject(request)); // all of it is read before any is kept
  const own = ownOf(deps, request);
  for (const { file, content } of files) {
    const ofSession = { ...file, sessionId: own.sessions.keyOf(id) };
    if ("bytes" in content) await own.files.add(ofSession, [content.bytes]);
    else own.files.addFailure(ofSession, content.failure);
  }
  own.sessions.put(id, messages);
  const body: Static<typeof SessionObject> = { id, object: "session" };
  return Response.json(body);
}

/** Copies the messages of the turns; their files belong to both sessions, and are put into the new one's folder at its first call. */
async function forked(deps: HttpDeps, id: string, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { sessions, files } = ownOf(deps, request);
  const body = checkFork(await readJsonObject(request));
  const messages = messagesOf(sessions, id);
  const starts = messages.flatMap(({ role }, index) => (role === "user" ? [index] : []));
  const turn = body.turn ?? Math.max(0, starts.length - 1);
  if (turn >= Math.max(1, starts.length)) {
    const message = `turn must be below ${starts.length}, the number of the session's user messages; got ${turn}`;
    throw new ServiceError("invalid_request", message, { param: "turn" });
  }
  const forkId = body.session_id ?? newId("sess_");
  if (sessions.get(forkId) !== undefined) {
    const message = "session_id names a session that exists; choose another one, or delete it first";
    throw new ServiceError("invalid_request", message, { param: "session_id" });
  }
  sessions.put(forkId, messages.slice(0, starts[turn + 1]));
  for (const file of files.list(sessions.keyOf(id))) {
    if (file.source.turn <= turn) files.join(file.id, sessions.keyOf(forkId));
  }
  const answer: Static<typeof ForkedSession> = { id: forkId, object: "session", forked_from: id, turn };
  return Response.json(answer);
}

function removed(sessions: Own["sessions"], id: string): Response {
  sessions.delete(id);
  const body: Static<typeof DeletedSession> = { id, object: "session.deleted", deleted: true };
  return Response.json(body);
}
