// Dialog that saves a conversation as a file: a web page, Markdown, or JSON that svc can import.

import { Braces, FileCode, FileText } from "lucide";
import { signal } from "@preact/signals";
import { messageOf } from "../api/client.ts";
import { saveFile } from "../save-file.ts";
import type { Conversation } from "../state/conversation.ts";
import { conversationOf, exportedText, openConversation } from "../state/conversations.ts";
import { fileNameOf, markdownOf } from "../state/share.ts";
import { notify } from "../state/toasts.ts";
import { Dialog } from "./dialog.tsx";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

/** Id of the conversation that is shared. */
export const sharedId = signal<string | undefined>(undefined);

const formats = () =>
  [
    {
      extension: "html",
      icon: FileCode,
      name: t.share.page,
      what: t.share.pageWhat,
      make: async (conversation: Conversation) => (await import("./share-page.tsx")).pageOf(conversation),
    },
    {
      extension: "md",
      icon: FileText,
      name: "Markdown",
      what: t.share.markdownWhat,
      make: async (conversation: Conversation) => markdownOf(conversation),
    },
    {
      extension: "json",
      icon: Braces,
      name: "JSON",
      what: t.share.jsonWhat,
      make: async ({ id }: Conversation) => exportedText([id]),
    },
  ] as const;

export function ShareDialog() {
  const id = sharedId.value;
  if (id === undefined) return null;
  const close = (): void => {
    sharedId.value = undefined;
  };
  const share = async ({ extension, make }: ReturnType<typeof formats>[number]): Promise<void> => {
    close();
    try {
      const conversation = (await openConversation(id)) ? conversationOf(id) : undefined;
      if (conversation === undefined) return;
      saveFile(`${fileNameOf(conversation.title)}.${extension}`, [await make(conversation)]);
    } catch (error) {
      notify(messageOf(error));
    }
  };
  return (
    <Dialog title={t.share.title} onClose={close}>
      <ul class="choices">
        {formats().map((format) => (
          <li key={format.extension}>
            <button type="button" onClick={() => void share(format)}>
              <Icon node={format.icon} />
              <span>
                <strong>{format.name}</strong>
                <span class="faint">{format.what}</span>
              </span>
            </button>
          </li>
        ))}
      </ul>
    </Dialog>
  );
}
