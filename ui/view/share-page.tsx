// A conversation as a web page in one file: the elements of the chat page without their buttons, and its style.

import { render } from "preact";
import { answerText, type Conversation, type Message, thread } from "../state/conversation.ts";
import { shownAs } from "../state/media-types.ts";
import { loadFormulas } from "./formula.tsx";
import { Markdown } from "./markdown.tsx";

/** Policy of the page: it shows, and does nothing else. */
const POLICY = "default-src 'none'; style-src 'unsafe-inline'; img-src data:";

export async function pageOf(conversation: Conversation): Promise<string> {
  await loadFormulas();
  const page = document.implementation.createHTMLDocument(conversation.title);
  const meta = (attributes: Readonly<Record<string, string>>): HTMLElement => {
    const element = page.createElement("meta");
    for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
    return element;
  };
  const style = page.createElement("style");
  style.textContent = styleText();
  page.head.prepend(
    meta({ charset: "utf-8" }),
    meta({ "http-equiv": "Content-Security-Policy", content: POLICY }),
    meta({ name: "viewport", content: "width=device-width, initial-scale=1" }),
  );
  page.head.append(style);
  const column = page.createElement("main");
  column.className = "column shared";
  render(<Shared conversation={conversation} />, column);
  // A property is not part of the text of a page.
  for (const box of column.querySelectorAll<HTMLInputElement>("input:checked"))
    box.setAttribute("checked", "");
  for (const button of column.querySelectorAll("button")) button.remove();
  for (const focusable of column.querySelectorAll("[tabindex]")) focusable.removeAttribute("tabindex");
  page.body.append(column);
  return `<!doctype html>\n<html>${page.documentElement.getHTML()}</html>\n`;
}

function Shared({ conversation }: { readonly conversation: Conversation }) {
  return (
    <>
      <h1>{conversation.title}</h1>
      {thread(conversation).map((message) => (
        <SharedMessage key={message.id} message={message} />
      ))}
    </>
  );
}

function SharedMessage({ message }: { readonly message: Message }) {
  if (message.role === "assistant") {
    return (
      <article class="answer">
        <Markdown text={answerText(message)} isGrowing={false} />
      </article>
    );
  }
  return (
    <article class="question">
      {message.attachments.map((attachment) =>
        shownAs(attachment) === "image" ? (
          <img class="thumbnail" src={attachment.data} alt={attachment.name} />
        ) : (
          <p class="faint">{attachment.name}</p>
        ),
      )}
      {message.text !== "" && <div class="bubble">{message.text}</div>}
    </article>
  );
}

/** The rules of this page's style sheets. */
function styleText(): string {
  return [...document.styleSheets]
    .flatMap((sheet) => [...sheet.cssRules])
    .map(({ cssText }) => cssText)
    .filter((rule) => !rule.startsWith("@font-face"))
    .join("\n");
}
