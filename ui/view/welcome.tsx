// Content of an empty conversation.

import { useEffect } from "preact/hooks";
import { Proposals } from "../pages/proposals.tsx";
import type { Conversation } from "../state/conversation.ts";
import { installed, loadHub } from "../state/hub.ts";
import { mcpServers, serverTools } from "../state/mcp.ts";
import { cardOf } from "../state/model-card.ts";
import { hasOnlyDemoModel, models } from "../state/models.ts";
import { addressOf } from "../state/route.ts";
import { keepsHistory } from "../state/sync.ts";
import { AssistantCards } from "./assistants.tsx";
import { toolSwitches } from "./tool-button.tsx";
import { CutNote } from "./cut-note.tsx";
import { t } from "../texts/texts.ts";

export function Welcome({ conversation }: { readonly conversation: Conversation }) {
  const all = models.value;
  return (
    <div class="thread">
      <div class="column welcome">
        <h2>{t.chat.start}</h2>
        <p>{keepsHistory.value === true ? t.chat.storedOnServer : t.chat.stored}</p>
        <Abilities conversation={conversation} />
        <CutNote conversation={conversation} />
        <AssistantCards conversation={conversation} />
        {hasOnlyDemoModel(all) && <FirstRun />}
      </div>
    </div>
  );
}

/** What the model of the conversation can do here, besides answering. */
function Abilities({ conversation: { model } }: { readonly conversation: Conversation }) {
  const card = cardOf(models.value ?? [], model);
  const tools = toolSwitches().flatMap(([name]) => (serverTools.value.has(name) ? [t.chat.tools[name]] : []));
  const servers = mcpServers.value.map(({ name }) => name);
  const can = [
    ...(card?.capabilities?.vision === true ? [t.chat.sees] : []),
    ...(card?.capabilities?.audio === true ? [t.chat.hears] : []),
    ...(card?.chat_template === "none" ? [] : [...tools, ...servers]),
  ];
  const list = new Intl.ListFormat(t.locale.numbers).format(can);
  return (
    <>
      {card?.chat_template === "none" && <p>{t.chat.isBase}</p>}
      {can.length > 0 && <p>{t.chat.can(list, tools.length + servers.length > 0)}</p>}
    </>
  );
}

/** Proposes models where the server has none but the built-in one. */
function FirstRun() {
  useEffect(() => void loadHub().catch(() => undefined), []); // without the hub, the way by the command line is shown
  const canPull = installed.value !== undefined && installed.value !== null;
  return (
    <>
      <p class="note">
        {canPull ? t.proposals.demoOrChoose : t.proposals.demo} <code>-m</code>
        {t.proposals.demoEnd}
      </p>
      {canPull && (
        <>
          <Proposals />
          <p>
            <a href={addressOf({ page: "models" })}>{t.chat.otherModels}</a>
          </p>
        </>
      )}
    </>
  );
}
