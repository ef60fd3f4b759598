// A code block with its language and a copy button.

import { Check, Copy } from "lucide";
import { useState } from "preact/hooks";
import { copyText } from "./copy.ts";
import { highlighted } from "./highlight.tsx";
import { Icon } from "./icon.tsx";

/** Time that the button shows its confirmation, milliseconds. */
const COPIED_MS = 1500;

interface CodeBlockProps {
  readonly code: string;
  /** Info string of the fence; its first word is the language. */
  readonly language: string;
}

export function CodeBlock({ code, language }: CodeBlockProps) {
  const name = language.trim().split(/\s/, 1)[0] ?? "";
  return (
    <div class="code-block">
      <div class="code-head">
        <span>{name || "text"}</span>
        <CopyButton text={code} what="code" />
      </div>
      {/* A scrollable box must be focusable by keyboard. */}
      <pre tabIndex={0}>
        <code>{highlighted(code, name.toLowerCase())}</code>
      </pre>
    </div>
  );
}

/** A button that copies a text. */
export function CopyButton({ text, what }: { readonly text: string; readonly what: string }) {
  const [isCopied, setCopied] = useState(false);
  const copy = (): void => {
    if (!copyText(text)) return;
    setCopied(true);
    setTimeout(() => setCopied(false), COPIED_MS);
  };
  return (
    <button type="button" class="ghost" onClick={copy} aria-label={`Copy ${what}`} title={`Copy ${what}`}>
      <Icon node={isCopied ? Check : Copy} size={15} />
    </button>
  );
}
