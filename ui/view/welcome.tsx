// Content of an empty conversation.

import { useEffect } from "preact/hooks";
import { Proposals } from "../pages/proposals.tsx";
import type { Conversation } from "../state/conversation.ts";
import { installed, loadHub } from "../state/hub.ts";
import { hasOnlyDemoModel, models } from "../state/models.ts";
import { addressOf } from "../state/route.ts";
import { AssistantCards } from "./assistants.tsx";
import { CutNote } from "./cut-note.tsx";

export function Welcome({ conversation }: { readonly conversation: Conversation }) {
  const all = models.value;
  return (
    <div class="thread">
      <div class="column welcome">
        <h2>Start a conversation</h2>
        <p>Conversations are stored in this browser.</p>
        <CutNote conversation={conversation} />
        <AssistantCards conversation={conversation} />
        {hasOnlyDemoModel(all) && <FirstRun />}
      </div>
    </div>
  );
}

/** Proposes models where the server has none but the built-in one. */
function FirstRun() {
  useEffect(() => void loadHub().catch(() => undefined), []); // without the hub, the way by the command line is shown
  const canPull = installed.value !== undefined && installed.value !== null;
  return (
    <>
      <p class="note">
        This server runs the built-in demo model with 4 million parameters. It can copy, count and name some
        capitals. To use another model, {canPull ? "choose one below, or " : ""}start svc with <code>-m</code>
        .
      </p>
      {canPull && (
        <>
          <Proposals />
          <p>
            <a href={addressOf({ page: "models" })}>Find other models</a>
          </p>
        </>
      )}
    </>
  );
}
