// The page in which the web interface previews HTML, SVG and Mermaid of answers: the only place where model output becomes markup.
// It has an origin of its own, loads nothing but files of the interface, and runs its own script alone. Scripts of the content run in
// `preview.html?scripts`, which a person must ask for: WebRTC, which no policy covers, lets them send what they hold.
// A `srcdoc` or `blob:` frame would inherit the interface's policy. Mermaid is the file of @mermaid-js/tiny; the full package brings 70.

import { hash } from "node:crypto";

/** Name of the page below /ui/. */
export const PREVIEW_PAGE = "preview.html";

/** Elements that load, connect or lead away by themselves. Connections that a page announces are covered by no policy. */
const LEAVING = "script, link, meta, base, iframe, frame, object, embed, portal, fencedframe";

/** Shows the content of the first message, and reports the height of diagrams. */
const SCRIPT = `
  const report = () => parent.postMessage({ height: document.body.scrollHeight + 24 }, "*");
  const show = (element) => { document.body.replaceChildren(element); report(); };
  const failed = (error) => {
    const text = document.createElement("pre");
    text.textContent = "This diagram cannot be drawn: " + (error && error.message ? error.message : error);
    show(text);
  };
  const parse = (markup) => {
    const parsed = new DOMParser().parseFromString(markup, "text/html");
    for (const element of parsed.querySelectorAll("${LEAVING}")) element.remove();
    return parsed;
  };
  const parsedSvg = (svg) => parse(svg).querySelector("svg");
  const draw = async (source, isDark) => {
    mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: isDark ? "dark" : "neutral" });
    const { svg } = await mermaid.render("diagram", source);
    show(parsedSvg(svg));
  };
  const write = (source) => {
    document.open();
    document.write(source);
    document.close();
  };
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    document.documentElement.style.colorScheme = data.isDark ? "dark" : "light";
    if (data.kind === "html" && location.search === "?scripts") write(data.source);
    else if (data.kind === "html") document.documentElement.replaceWith(document.adoptNode(parse(data.source).documentElement));
    else if (data.kind === "svg") {
      const svg = parsedSvg(data.source);
      if (svg === null) failed("it has no svg element"); else show(svg);
    } else {
      const script = document.createElement("script");
      script.src = data.mermaid;
      script.onload = () => draw(data.source, data.isDark).catch(failed);
      script.onerror = () => failed("the server could not be reached");
      document.head.append(script);
    }
  }, { once: true });
`;

export const PREVIEW_HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Preview</title>
<style>
  body { margin: 0.75rem; font: 16px/1.5 system-ui, sans-serif; }
  svg { max-width: 100%; height: auto; }
</style>
<body></body>
<script>${SCRIPT}</script>
</html>
`;

const HASH = hash("sha256", SCRIPT, "base64");

/** The interface's own policy keeps the frame from going to another address. `strict-dynamic`: our script loads Mermaid. */
export function previewPolicy(runsScripts: boolean): string {
  return [
    "default-src 'none'",
    `script-src ${runsScripts ? "'unsafe-inline'" : `'sha256-${HASH}' 'strict-dynamic'`}`,
    "style-src 'unsafe-inline'",
    "img-src data: blob:",
    "media-src data: blob:",
    "font-src data:",
    "base-uri 'none'",
    "form-action 'none'",
    "frame-ancestors 'self'",
    "sandbox allow-scripts",
  ].join("; ");
}
