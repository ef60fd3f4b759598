// Content of an empty conversation.

import type { Conversation } from "../state/conversation.ts";
import { hasOnlyDemoModel, models } from "../state/models.ts";
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
        {hasOnlyDemoModel(all) && (
          <p class="note">
            This server runs the built-in demo model with 4 million parameters. It can copy, count and name
            some capitals. To use another model, start svc with <code>-m</code>.
          </p>
        )}
      </div>
    </div>
  );
}
