// Asks for the arguments of an MCP server's prompt.

import { useState } from "preact/hooks";
import type { OfferedPrompt } from "../../src/core/mcp-offers.ts";
import { messageOf } from "../api/client.ts";
import { Dialog } from "./dialog.tsx";
import { LineField } from "./fields.tsx";
import { t } from "../texts/texts.ts";

interface McpPromptDialogProps {
  readonly offered: OfferedPrompt;
  /** Throws where the server refuses the values. */
  readonly onFill: (values: Readonly<Record<string, string>>) => Promise<void>;
  readonly onClose: () => void;
}

export function McpPromptDialog({ offered, onFill, onClose }: McpPromptDialogProps) {
  const [values, setValues] = useState<Readonly<Record<string, string>>>({});
  const [problem, setProblem] = useState<string>();
  const submit = async (): Promise<void> => {
    try {
      await onFill(values);
      onClose();
    } catch (error) {
      setProblem(messageOf(error));
    }
  };
  return (
    <Dialog title={offered.title ?? offered.name} onClose={onClose}>
      <form
        onSubmit={(event) => {
          event.preventDefault();
          event.stopPropagation(); // the message box is in a form, too
          void submit();
        }}
      >
        {offered.description !== undefined && <p class="faint">{offered.description}</p>}
        {offered.arguments.map(({ name, description = "", required }) => (
          <LineField
            key={name}
            label={name}
            hint={description}
            required={required}
            value={values[name] ?? ""}
            onChange={(value) => setValues({ ...values, [name]: value })}
          />
        ))}
        {problem !== undefined && (
          <p class="problem" role="alert">
            {problem}
          </p>
        )}
        <button type="submit" class="primary">
          {t.prompts.insert}
        </button>
      </form>
    </Dialog>
  );
}
