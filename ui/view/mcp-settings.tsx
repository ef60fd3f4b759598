// MCP servers in the settings panel: a switch for each in this conversation, and a form that adds one.

import { Plus, Trash2 } from "lucide";
import { useState } from "preact/hooks";
import type { PageMcpServer } from "../../src/core/page-mcp.ts";
import { messageOf } from "../api/client.ts";
import { usePolling } from "../pages/use-polling.ts";
import type { Conversation } from "../state/conversation.ts";
import { setSettings } from "../state/conversations.ts";
import { addMcp, canAddMcp, loadMcp, mcpLog, mcpServers, removeMcp, setMcpToken } from "../state/mcp.ts";
import { notifyOf } from "../state/toasts.ts";
import { Form, LineField, SwitchField } from "./fields.tsx";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

/** Refresh interval while the panel is shown, milliseconds. */
const POLL_MS = 3000;

export function McpSettings({ conversation: { id, settings } }: { readonly conversation: Conversation }) {
  usePolling(loadMcp, POLL_MS);
  const [isAdding, setAdding] = useState(false);
  const off = settings.mcp_off ?? [];
  if (mcpServers.value.length === 0 && !canAddMcp.value) return null;
  const set = (server: string, isOn: boolean): void => {
    const others = off.filter((one) => one !== server);
    setSettings(id, { ...settings, mcp_off: isOn ? others : [...others, server] });
  };
  return (
    <fieldset>
      <legend>{t.mcp.title}</legend>
      <ul class="mcp">
        {mcpServers.value.map((server) => (
          <li key={server.id}>
            <div class="row">
              <SwitchField
                label={server.name}
                value={!off.includes(server.id)}
                onChange={(isOn) => set(server.id, isOn)}
              />
              <span class="grow" />
              {server.origin === "page" && (
                <button
                  type="button"
                  class="ghost"
                  aria-label={t.mcp.remove(server.name)}
                  title={t.mcp.remove(server.name)}
                  onClick={() => void removeMcp(server.id)}
                >
                  <Icon node={Trash2} size={15} />
                </button>
              )}
            </div>
            <ServerState server={server} />
            {server.needs_token === true && server.origin === "page" && <TokenForm server={server} />}
          </li>
        ))}
      </ul>
      {isAdding && <AddForm onDone={() => setAdding(false)} />}
      {canAddMcp.value && !isAdding && (
        <button type="button" onClick={() => setAdding(true)}>
          <Icon node={Plus} size={15} /> {t.mcp.add}
        </button>
      )}
    </fieldset>
  );
}

function ServerState({ server }: { readonly server: PageMcpServer }) {
  const { status, problem, host, tools, faults = [] } = server;
  if (status === "failed") {
    return (
      <>
        <p class="problem">{t.mcp.notConnected(problem ?? "")}</p>
        <ServerLog server={server} />
      </>
    );
  }
  const facts = [
    ...(host === undefined ? [] : [host]),
    status === "connecting" ? t.mcp.connecting : t.count.tool(tools.length),
  ];
  return (
    <details class="faint">
      <summary>{facts.join(" · ")}</summary>
      <ul>
        {tools.map(({ name, description }) => (
          <li key={name}>
            <code>{name}</code> {description.split("\n", 1)[0]}
          </li>
        ))}
        {faults.map((fault) => (
          <li key={fault} class="problem">
            {fault}
          </li>
        ))}
      </ul>
      <ServerLog server={server} />
    </details>
  );
}

/** The last lines of a server's log, fetched when it is opened. */
function ServerLog({ server: { id, name } }: { readonly server: PageMcpServer }) {
  const [text, setText] = useState<string>();
  const load = (): void =>
    void mcpLog(id).then(
      (lines) => setText(lines === "" ? t.mcp.logIsEmpty : lines),
      (error: unknown) => setText(messageOf(error)),
    );
  return (
    <details class="faint" onToggle={load}>
      <summary>{t.mcp.log(name)}</summary>
      {text !== undefined && (
        <pre class="output" tabIndex={0}>
          {text}
        </pre>
      )}
    </details>
  );
}

/** Offered where a server refuses access. */
function TokenForm({ server: { id, name } }: { readonly server: PageMcpServer }) {
  const [token, setToken] = useState("");
  const submit = (): Promise<void> =>
    notifyOf(async () => {
      await setMcpToken(id, token.trim());
      setToken("");
    });
  return (
    <Form
      label={t.mcp.tokenOf(name)}
      onSubmit={() => {
        if (token.trim() !== "") void submit();
      }}
    >
      <p class="faint">{t.mcp.needsToken}</p>
      <div class="row">
        <input
          class="grow"
          type="password"
          autocomplete="off"
          aria-label={t.mcp.tokenOf(name)}
          placeholder={t.mcp.token}
          value={token}
          onInput={({ currentTarget }) => setToken(currentTarget.value)}
        />
        <button type="submit">{t.common.save}</button>
      </div>
    </Form>
  );
}

function AddForm({ onDone }: { readonly onDone: () => void }) {
  const [name, setName] = useState("");
  const [url, setUrl] = useState("");
  const [token, setToken] = useState("");
  const [problem, setProblem] = useState<string>();
  const submit = async (): Promise<void> => {
    const secret = token.trim() === "" ? {} : { bearer_token: token.trim() };
    try {
      await addMcp({ name: name.trim(), url: url.trim(), ...secret });
      onDone();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <Form label={t.mcp.add} onSubmit={() => void submit()}>
      <LineField label={t.common.name} hint="wiki" required value={name} onChange={setName} />
      <LineField
        label={t.mcp.address}
        kind="address"
        hint="https://example.com/mcp"
        required
        value={url}
        onChange={setUrl}
      />
      <LineField label={t.mcp.token} kind="secret" value={token} onChange={setToken} />
      {problem !== undefined && (
        <p class="problem" role="alert">
          {problem}
        </p>
      )}
      <p class="faint">{t.mcp.trust}</p>
      <div class="row">
        <button type="submit" class="primary">
          {t.common.add}
        </button>
        <button type="button" onClick={onDone}>
          {t.common.cancel}
        </button>
      </div>
    </Form>
  );
}
