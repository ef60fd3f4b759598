// Asks the user to approve or deny an action of the model.

import type { IconNode } from "lucide";
import { useState } from "preact/hooks";
import { messageOf } from "../api/client.ts";
import { answerApproval } from "../state/chat.ts";
import type { Approval, AssistantMessage, Conversation } from "../state/conversation.ts";
import { notify } from "../state/toasts.ts";
import { revealed } from "../../src/core/visible-text.ts";
import { CodeBlock } from "./code-block.tsx";
import { InlineField } from "./fields.tsx";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

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
      notify(t.errors.notDecided(messageOf(error)));
      setSending(false);
    }
  };
  return (
    <section class="approval" aria-label={t.tools.required}>
      <p class="approval-title">
        <Icon node={icon} />
        <strong>{revealed(approval.label)}</strong>
        <span class="faint">{t.tools.asks}</span>
      </p>
      <CodeBlock code={revealed(approval.arguments)} language={languageOf(approval)} />
      {approval.reach !== undefined && (
        <dl class="facts" aria-label={t.tools.reach}>
          <div>
            <dt>{t.files.title}</dt>
            <dd>{approval.reach.files}</dd>
          </div>
          <div>
            <dt>{t.tools.network}</dt>
            <dd>{approval.reach.network}</dd>
          </div>
        </dl>
      )}
      <div class="approval-row">
        <button type="button" class="primary" disabled={isSending} onClick={() => void decide("approve")}>
          {t.tools.approve}
        </button>
        <button type="button" disabled={isSending} onClick={() => void decide("deny")}>
          {t.tools.deny}
        </button>
        <label class="check">
          <input type="checkbox" checked={remember} onInput={() => setRemember(!remember)} />
          {t.tools.remember}
        </label>
        <InlineField label={t.tools.reason} hint={t.tools.reasonHint} value={note} onChange={setNote} />
      </div>
    </section>
  );
}

function languageOf({ label, arguments: args }: Approval): string {
  if (args.startsWith("--- ")) return "diff";
  if (/python/i.test(label)) return "python";
  return /shell/i.test(label) ? "bash" : "json";
}
