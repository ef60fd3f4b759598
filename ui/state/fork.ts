// Forks the server's session of a conversation, so that the copy has the files of its turns and an interpreter of its own.

import { sendForJson } from "../api/client.ts";

/** Id of the new session; null if the session is missing or has expired: the copy then begins one. */
export async function forkedSession(session: string | null, turn: number): Promise<string | null> {
  if (session === null || turn < 0) return null;
  try {
    const path = `v1/sessions/${encodeURIComponent(session)}/fork`;
    return (await sendForJson<{ readonly id: string }>(path, { method: "POST", body: { turn } })).id;
  } catch {
    return null;
  }
}
