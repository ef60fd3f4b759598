// Settings of the conversation's server session, which keeps the state of tools and can be continued by other clients.

import { useState } from "preact/hooks";
import { messageOf, send, sendForJson } from "../api/client.ts";
import { saveFile } from "../save-file.ts";
import type { Conversation } from "../state/conversation.ts";
import { add, change } from "../state/conversations.ts";
import { newId } from "../state/new-id.ts";
import { go } from "../state/route.ts";
import { notify } from "../state/toasts.ts";
import { fromSession, type ServerSession } from "../state/transfer.ts";
import { Form, InlineField, SwitchField } from "./fields.tsx";
import { t } from "../texts/texts.ts";

const pathOf = (session: string): string => `v1/sessions/${encodeURIComponent(session)}`;

export function SessionSettings({ conversation: { id, session } }: { readonly conversation: Conversation }) {
  const set = (next: string | null): void => change(id, (before) => ({ ...before, session: next }));
  const attempt = (what: () => Promise<void>) => (): void => {
    what().catch((error: unknown) => notify(messageOf(error)));
  };
  const download = async (name: string): Promise<void> => {
    saveFile(`${name}.json`, [await (await send(pathOf(name))).text()]);
  };
  const deleteSession = async (name: string): Promise<void> => {
    await send(pathOf(name), { method: "DELETE" });
    set(null);
    notify(t.settings.sessionDeleted);
  };
  return (
    <fieldset>
      <legend>{t.settings.session}</legend>
      <SwitchField
        label={t.settings.useSession}
        value={session !== null}
        onChange={(isOn) => set(isOn ? `ui-${newId()}` : null)}
      />
      {session !== null && (
        <>
          <p class="faint">
            <code>{session}</code>
          </p>
          <div class="row">
            <button type="button" onClick={attempt(() => download(session))}>
              {t.common.download}
            </button>
            <button type="button" onClick={attempt(() => deleteSession(session))}>
              {t.common.delete}
            </button>
          </div>
        </>
      )}
      <OpenSession />
    </fieldset>
  );
}

/** Opens a session of another client as a conversation. */
function OpenSession() {
  const [name, setName] = useState("");
  const open = async (): Promise<void> => {
    try {
      const session = await sendForJson<ServerSession>(pathOf(name.trim()));
      const conversation = fromSession(name.trim(), session, { id: newId(), now: Date.now(), newId });
      add(conversation);
      go({ page: "chat", id: conversation.id });
    } catch (error) {
      notify(messageOf(error));
    }
  };
  return (
    <Form
      class="row"
      onSubmit={() => {
        if (name.trim() !== "") void open();
      }}
    >
      <InlineField
        label={t.settings.sessionId}
        hint={t.settings.sessionHint}
        value={name}
        onChange={setName}
      />
      <button type="submit">{t.settings.open}</button>
    </Form>
  );
}
