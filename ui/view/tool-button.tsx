// Button beside the message box for the tools of the conversation: those that the server has, and whether actions need an approval.

import { Wrench } from "lucide";
import type { Conversation, Settings } from "../state/conversation.ts";
import { setSettings } from "../state/conversations.ts";
import { mcpServers, serverTools } from "../state/mcp.ts";
import { SwitchField } from "./fields.tsx";
import { Icon } from "./icon.tsx";
import { usePopup } from "./popup.ts";
import { PermissionField } from "./settings-panel.tsx";
import { t } from "../texts/texts.ts";

/** Switches of tools by the server's names for them. */
export const toolSwitches = () =>
  [
    ["code_execution", "python", t.settings.python],
    ["shell", "shell", t.settings.shell],
    ["web_search", "search", t.settings.web],
  ] as const;

export function ToolButton({ conversation: { id, settings } }: { readonly conversation: Conversation }) {
  const { box, isOpen, toggle, onKeyDown } = usePopup("input");
  const offered = toolSwitches().filter(([name]) => serverTools.value.has(name));
  const off = settings.mcp_off ?? [];
  const servers = mcpServers.value;
  if (offered.length === 0 && servers.length === 0) return null;
  const set = (part: Partial<Settings>): void => setSettings(id, { ...settings, ...part });
  const count =
    offered.filter(([, field]) => settings[field]).length +
    servers.filter((one) => !off.includes(one.id)).length;
  return (
    <span class="menu-box" ref={box} onKeyDown={onKeyDown} role="presentation">
      <button
        type="button"
        class={count > 0 ? "ghost on" : "ghost"}
        aria-label={t.composer.tools(count)}
        title={t.composer.tools(count)}
        aria-expanded={isOpen}
        onClick={toggle}
      >
        <Icon node={Wrench} />
        {count > 0 && <span class="count">{count}</span>}
      </button>
      {isOpen && (
        <div class="menu up switches" role="group" aria-label={t.settings.tools}>
          {offered.map(([name, field, label]) => (
            <SwitchField
              key={name}
              label={label}
              value={settings[field]}
              onChange={(isOn) => set({ [field]: isOn })}
            />
          ))}
          {servers.map((server) => (
            <SwitchField
              key={server.id}
              label={server.name}
              value={!off.includes(server.id)}
              onChange={(isOn) =>
                set({ mcp_off: isOn ? off.filter((one) => one !== server.id) : [...off, server.id] })
              }
            />
          ))}
          <PermissionField value={settings.permission} onChange={(permission) => set({ permission })} />
        </div>
      )}
    </span>
  );
}
