// Copies text to the clipboard with execCommand. The Clipboard API is unavailable over plain HTTP, the usual way to reach
// svc from a phone.

/** Copies a text. False if the browser refuses. */
export function copyText(text: string): boolean {
  const area = document.createElement("textarea");
  area.value = text;
  area.className = "off-screen";
  area.setAttribute("aria-hidden", "true");
  const focused = document.activeElement;
  (document.querySelector("dialog[open]") ?? document.body).append(area);
  area.select();
  const isCopied = document.execCommand("copy");
  area.remove();
  if (focused instanceof HTMLElement) focused.focus();
  return isCopied;
}
