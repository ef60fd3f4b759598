// Asks the user to approve or deny an action of the model.

import type { IconNode } from "lucide";
import { useState } from "preact/hooks";
import { messageOf } from "../api/client.ts";
import { answerApproval } from "../state/chat.ts";
import type { Approval, AssistantMessage, Conversation } from "../state/conversation.ts";
import { notify } from "../state/toasts.ts";
import { revealed } from "../format.ts";
import { CodeBlock } from "./code-block.tsx";
import { Icon } from "./icon.tsx";

interface ApprovalProps {
  readonly conversation: Conversation;
  readonly message: AssistantMessage;
  readonly approval: Approval;
  readonly icon: IconNode;
}

export function ApprovalCard({ conversation, message, approval, icon }: ApprovalProps) {
  const [note, setNote] = useState("");
  const [remember, setRemember] = useState(false);
  const [isSending, setSending] = useState(false);
  const decide = async (decision: "approve" | "deny"): Promise<void> => {
    setSending(true);
    const reason = decision === "deny" && note.trim() !== "" ? { message: note.trim() } : {};
    try {
      const answer = { decision, remember: decision === "approve" && remember, ...reason };
      await answerApproval(conversation.id, message, approval.id, answer);
    } catch (error) {
      notify(`Could not send the decision: ${messageOf(error)}`);
      setSending(false);
    }
  };
  return (
    <section class="approval" aria-label="Approval required">
      <p class="approval-title">
        <Icon node={icon} />
        <strong>{revealed(approval.label)}</strong>
        <span class="faint">
          The model asks for permission. Without a decision, the request is denied after five minutes.
        </span>
      </p>
      <CodeBlock code={revealed(approval.arguments)} language={languageOf(approval)} />
      {approval.reach !== undefined && (
        <dl class="facts" aria-label="Reach">
          <div>
            <dt>Files</dt>
            <dd>{approval.reach.files}</dd>
          </div>
          <div>
            <dt>Network</dt>
            <dd>{approval.reach.network}</dd>
          </div>
        </dl>
      )}
      <div class="approval-row">
        <button type="button" class="primary" disabled={isSending} onClick={() => void decide("approve")}>
          Approve
        </button>
        <button type="button" disabled={isSending} onClick={() => void decide("deny")}>
          Deny
        </button>
        <label class="check">
          <input type="checkbox" checked={remember} onInput={() => setRemember(!remember)} />
          Remember for this session
        </label>
        <input
          class="grow"
          aria-label="Reason for denial"
          placeholder="Reason for denial (sent to the model)"
          value={note}
          onInput={({ currentTarget }) => setNote(currentTarget.value)}
        />
      </div>
    </section>
  );
}

function languageOf({ label, arguments: args }: Approval): string {
  if (args.startsWith("--- ")) return "diff";
  if (/python/i.test(label)) return "python";
  return /shell/i.test(label) ? "bash" : "json";
}
