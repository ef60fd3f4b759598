// A code block with its language and buttons: preview, wrap, copy, download.

import { Check, Copy, Download, Eye, WrapText } from "lucide";
import type { ComponentProps } from "preact";
import { useState } from "preact/hooks";
import { saveFile } from "../save-file.ts";
import { copyText } from "./copy.ts";
import { highlighted } from "./highlight.tsx";
import { Icon } from "./icon.tsx";
import { Preview, previewKind } from "./preview.tsx";
import { t } from "../texts/texts.ts";

/** Time that the button shows its confirmation, milliseconds. */
const COPIED_MS = 1500;
const ICON_PX = 15;

/** Extensions of languages whose names are none. */
const EXTENSIONS: Readonly<Record<string, string>> = {
  bash: "sh",
  csharp: "cs",
  javascript: "js",
  kotlin: "kt",
  markdown: "md",
  mermaid: "mmd",
  python: "py",
  ruby: "rb",
  rust: "rs",
  shell: "sh",
  typescript: "ts",
};

interface CodeBlockProps {
  readonly code: string;
  /** Info string of the fence; its first word is the language. */
  readonly language: string;
}

export function CodeBlock({ code, language }: CodeBlockProps) {
  const [isWrapped, setWrapped] = useState(false);
  const [isPreviewed, setPreviewed] = useState(false);
  const name = language.trim().split(/\s/, 1)[0] ?? "";
  const id = name.toLowerCase();
  const kind = previewKind(id, code);
  return (
    <div class="code-block">
      <div class="code-head">
        <span class="grow">{name || "text"}</span>
        {kind !== undefined && (
          <CodeButton
            label={isPreviewed ? t.blocks.showCode : t.blocks.preview}
            icon={Eye}
            aria-pressed={isPreviewed}
            onClick={() => setPreviewed(!isPreviewed)}
          />
        )}
        <CodeButton
          label={t.blocks.wrap}
          icon={WrapText}
          aria-pressed={isWrapped}
          onClick={() => setWrapped(!isWrapped)}
        />
        <CodeButton
          label={t.blocks.downloadCode}
          icon={Download}
          onClick={() => saveFile(`code.${/^\w+$/.test(id) ? (EXTENSIONS[id] ?? id) : "txt"}`, [code])}
        />
        <CopyButton text={code} label={t.blocks.copyCode} />
      </div>
      {isPreviewed && kind !== undefined ? (
        <Preview kind={kind} source={code} />
      ) : (
        // A scrollable box must be focusable by keyboard.
        <pre tabIndex={0} class={isWrapped ? "wrapped" : undefined}>
          <code>{highlighted(code, id)}</code>
        </pre>
      )}
    </div>
  );
}

interface CodeButtonProps extends ComponentProps<"button"> {
  readonly label: string;
  readonly icon: Parameters<typeof Icon>[0]["node"];
}

function CodeButton({ label, icon, ...rest }: CodeButtonProps) {
  return (
    <button type="button" class="ghost" aria-label={label} title={label} {...rest}>
      <Icon node={icon} size={ICON_PX} />
    </button>
  );
}

interface CopyButtonProps {
  /** The text, or what computes it. */
  readonly text: string | (() => string);
  readonly label: string;
}

/** A button that copies a text. */
export function CopyButton({ text, label }: CopyButtonProps) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    if (!copyText(typeof text === "string" ? text : text())) return;
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return <CodeButton label={label} icon={isCopied ? Check : Copy} onClick={copy} />;
}
