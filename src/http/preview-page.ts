// The page in which the web interface previews HTML, SVG and Mermaid of answers: the only place where model output becomes markup.
// It has an origin of its own, loads nothing but files of the interface, and cannot send anything.

/** Name of the page below /ui/. */
export const PREVIEW_PAGE = "preview.html";

/** `'self'`: Mermaid. The interface's own policy keeps the frame from going to another address. */
export const PREVIEW_POLICY = [
  "default-src 'none'",
  "script-src 'self' 'unsafe-inline'",
  "style-src 'unsafe-inline'",
  "img-src data: blob:",
  "media-src data: blob:",
  "font-src data:",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'self'",
  "sandbox allow-scripts",
].join("; ");

/** Shows the content of the first message, and reports the height of diagrams. */
export const PREVIEW_HTML = `<!doctype html>
<html lang="en">
<meta charset="utf-8">
<title>Preview</title>
<style>
  body { margin: 0.75rem; font: 16px/1.5 system-ui, sans-serif; }
  svg { max-width: 100%; height: auto; }
</style>
<body></body>
<script>
  const report = () => parent.postMessage({ height: document.body.scrollHeight + 24 }, "*");
  const show = (element) => { document.body.replaceChildren(element); report(); };
  const failed = (error) => {
    const text = document.createElement("pre");
    text.textContent = "This diagram cannot be drawn: " + (error && error.message ? error.message : error);
    show(text);
  };
  const parsed = (svg) => new DOMParser().parseFromString(svg, "text/html").querySelector("svg");
  const draw = async (source, isDark) => {
    mermaid.initialize({ startOnLoad: false, securityLevel: "strict", theme: isDark ? "dark" : "neutral" });
    const { svg } = await mermaid.render("diagram", source);
    show(parsed(svg));
  };
  addEventListener("message", ({ source, data }) => {
    if (source !== parent) return;
    document.documentElement.style.colorScheme = data.isDark ? "dark" : "light";
    if (data.kind === "html") {
      document.open();
      document.write(data.source);
      document.close();
    } else if (data.kind === "svg") {
      const svg = parsed(data.source);
      if (svg === null) failed("it has no svg element"); else show(svg);
    } else {
      const script = document.createElement("script");
      script.src = data.mermaid;
      script.onload = () => draw(data.source, data.isDark).catch(failed);
      script.onerror = () => failed("the server could not be reached");
      document.head.append(script);
    }
  }, { once: true });
</script>
</html>
`;
