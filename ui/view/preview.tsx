// Preview of HTML, SVG or Mermaid in a frame that has no access to this page, its storage or the network. Scripts of a page run after a
// second click that names their risk.

// oxlint-disable-next-line import/default -- the bundler's: the address of the file
import mermaidFile from "@mermaid-js/tiny/dist/mermaid.tiny.js" with { type: "file" };
import { useEffect, useRef, useState } from "preact/hooks";
import { t } from "../texts/texts.ts";

export type PreviewKind = "html" | "svg" | "mermaid";

const KINDS: Readonly<Record<string, PreviewKind>> = {
  html: "html",
  htm: "html",
  svg: "svg",
  mermaid: "mermaid",
};

/** Smallest and largest height of a diagram, CSS pixels. A page has the height of the style sheet. */
const HEIGHT_MIN = 80;
const HEIGHT_MAX = 640;

/** What a code block can be previewed as; undefined if it cannot. */
export function previewKind(language: string, code: string): PreviewKind | undefined {
  if (language === "xml" && /^\s*(?:<\?xml[^>]*>\s*)?<svg[\s>]/.test(code)) return "svg";
  return KINDS[language];
}

/** What runs scripts in a page: elements, handlers, addresses. */
const HAS_SCRIPTS = /<script|\son\w+\s*=|javascript:/i;

interface PreviewProps {
  readonly kind: PreviewKind;
  readonly source: string;
}

export function Preview({ kind, source }: PreviewProps) {
  const frame = useRef<HTMLIFrameElement>(null);
  const [runsScripts, setRunsScripts] = useState(false);
  const [height, setHeight] = useState<number>();
  useEffect(() => {
    const onMessage = ({ source: from, data }: MessageEvent<unknown>): void => {
      if (from === null || from !== frame.current?.contentWindow) return;
      const told = typeof data === "object" && data !== null && "height" in data ? Number(data.height) : NaN;
      if (told > 0) setHeight(Math.min(HEIGHT_MAX, Math.max(HEIGHT_MIN, told)));
    };
    addEventListener("message", onMessage);
    return () => removeEventListener("message", onMessage);
  }, []);
  const isSent = useRef(false);
  const send = (): void => {
    if (isSent.current) return; // the written page is loaded, too
    isSent.current = true;
    const mermaid = new URL(mermaidFile, document.baseURI).href;
    frame.current?.contentWindow?.postMessage({ kind, source, mermaid, isDark: isDark() }, "*"); // its origin is opaque
  };
  const runScripts = (): void => {
    isSent.current = false;
    setRunsScripts(true);
  };
  return (
    <>
      <iframe
        key={String(runsScripts)}
        ref={frame}
        class="preview"
        sandbox="allow-scripts"
        src={runsScripts ? "preview.html?scripts" : "preview.html"}
        title={kind === "html" ? t.blocks.previewOfPage : t.blocks.previewOfGraphic}
        style={height === undefined ? undefined : { height: `${height}px` }}
        onLoad={send}
      />
      {kind === "html" && <p class="faint preview-note">{t.blocks.previewNote}</p>}
      {kind === "html" && !runsScripts && HAS_SCRIPTS.test(source) && (
        <p class="faint preview-note">
          {t.blocks.scriptsRisk}{" "}
          <button type="button" onClick={runScripts}>
            {t.blocks.runScripts}
          </button>
        </p>
      )}
    </>
  );
}

function isDark(): boolean {
  const { theme } = document.documentElement.dataset;
  return theme === "dark" || (theme !== "light" && matchMedia("(prefers-color-scheme: dark)").matches);
}
