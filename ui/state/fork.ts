// Forks the server's session of a conversation, so that the copy has the files of its turns and an interpreter of its own.

import { sendForJson } from "../api/client.ts";
import { serverTurn } from "./edits.ts";
import type { ServerSession } from "./transfer.ts";

/**
 * Id of the new session, which ends with the last of the questions; null if the session has expired or knows other questions: the copy
 * then begins one.
 */
export async function forkedSession(
  session: string | null,
  questions: readonly string[],
): Promise<string | null> {
  if (session === null || questions.length === 0) return null;
  try {
    const path = `v1/sessions/${encodeURIComponent(session)}`;
    const turn = serverTurn(questions, await sendForJson<ServerSession>(path));
    if (turn < 0) return null;
    return (await sendForJson<{ readonly id: string }>(`${path}/fork`, { method: "POST", body: { turn } }))
      .id;
  } catch {
    return null;
  }
}
