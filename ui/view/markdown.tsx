// Renders Markdown. Parser tokens become only the elements below, never HTML strings, so nothing needs sanitizing. HTML in
// the text is shown as text. Formulas are rendered alike: TeX → tree → elements.
// An image becomes a link: loading it would reveal the reader to its host. Complete blocks of a growing answer are not parsed again.

import { decodeHTML } from "entities/decode";
import type { MarkedToken, Token, Tokens } from "marked";
import type { ComponentChild, ComponentChildren } from "preact";
import { memo } from "preact/compat";
import { useRef } from "preact/hooks";
import { CodeBlock } from "./code-block.tsx";
import type { Details, Footnote, FootnoteRef } from "./extra-tokens.ts";
import { Formula } from "./formula.tsx";
import { lexer, type MathToken } from "./math-tokens.ts";
import { safeLink } from "./safe-link.ts";
import { TableView } from "./table-view.tsx";
import { t } from "../texts/texts.ts";

interface MarkdownProps {
  readonly text: string;
  /** The text grows at its end: complete blocks are not parsed again. */
  readonly isGrowing: boolean;
}

/** Renders a text. Memoized, because every delta of an answer re-renders the whole conversation. */
export const Markdown = memo(({ text, isGrowing }: MarkdownProps) => {
  const done = useRef<Blocks>(NO_BLOCKS);
  done.current = isGrowing ? growBlocks(done.current, text) : NO_BLOCKS;
  const tokens = isGrowing ? [...done.current.tokens, ...done.current.open] : lexer(text);
  return (
    <div class="markdown">
      {tokens.map((token, index) => (
        <Block key={index} raw={token.raw} token={token} />
      ))}
    </div>
  );
});

/** Leading blocks of a growing text that later text cannot change. */
export interface Blocks {
  readonly tokens: readonly Token[];
  /** The others, which may change. */
  readonly open: readonly Token[];
  /** Length of the source of the complete ones. */
  readonly chars: number;
  readonly source: string;
}

export const NO_BLOCKS: Blocks = { tokens: [], open: [], chars: 0, source: "" };

/** The complete blocks: all except the last one with content and the blank lines after it, which may continue. */
export function growBlocks(before: Blocks, text: string): Blocks {
  const known = text.startsWith(before.source) ? before : NO_BLOCKS;
  const fresh = lexer(text.slice(known.chars));
  const complete = fresh.slice(
    0,
    Math.max(
      0,
      fresh.findLastIndex(({ type }) => type !== "space"),
    ),
  );
  const open = fresh.slice(complete.length);
  if (complete.length === 0) return { ...known, open };
  const chars = known.chars + complete.reduce((sum, { raw }) => sum + raw.length, 0);
  return { tokens: [...known.tokens, ...complete], open, chars, source: text.slice(0, chars) };
}

/** One block; re-rendered only when its source changes. */
const Block = memo(
  ({ token }: { readonly raw: string; readonly token: Token }) => <>{blockElement(token as AnyToken)}</>,
  (before, after) => before.raw === after.raw,
);

export type AnyToken = MarkedToken | MathToken | FootnoteRef | Footnote | Details;

/** The element of a block. */
export function blockElement(token: AnyToken): ComponentChild {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others are inline
  switch (token.type) {
    case "heading":
      return heading(token);
    case "paragraph":
      return <p>{inline(token.tokens)}</p>;
    case "blockquote":
      return <blockquote dir="auto">{blocks(token.tokens)}</blockquote>;
    case "list":
      return list(token);
    case "code":
      return <CodeBlock code={token.text} language={token.lang ?? ""} />;
    case "table":
      return table(token);
    case "footnote":
      return (
        <p class="footnote">
          <sup>{token.label}</sup> {inline(token.tokens)}
        </p>
      );
    case "details":
      return (
        <details open={token.isOpen}>
          <summary>{token.summary === "" ? t.blocks.details : decodeHTML(token.summary)}</summary>
          {blocks(token.tokens)}
        </details>
      );
    case "hr":
      return <hr />;
    case "html":
      return <p>{token.raw.trim()}</p>;
    case "space":
    case "def":
      return null;
    default:
      return inlineElement(token);
  }
}

/** Headings of an answer are below the levels of the page's own headings. */
function heading({ depth, tokens }: Tokens.Heading): ComponentChild {
  const content = inline(tokens);
  if (depth === 1) return <h3>{content}</h3>;
  if (depth === 2) return <h4>{content}</h4>;
  return depth === 3 ? <h5>{content}</h5> : <h6>{content}</h6>;
}

function list({ ordered, start, items }: Tokens.List): ComponentChild {
  const entries = items.map((item) => (
    <li class={item.task ? "task" : undefined}>
      {item.task && (
        <input type="checkbox" checked={item.checked ?? false} disabled aria-label={t.blocks.task} />
      )}
      {blocks(withoutCheckbox(item.tokens))}
    </li>
  ));
  return ordered ? (
    <ol dir="auto" start={start === "" ? 1 : start}>
      {entries}
    </ol>
  ) : (
    <ul dir="auto">{entries}</ul>
  );
}

/** In a loose list the parser puts the box into the item's first paragraph. */
function withoutCheckbox(tokens: readonly Token[]): readonly Token[] {
  return tokens
    .filter(({ type }) => type !== "checkbox")
    .map((token) =>
      token.type === "paragraph" && token.tokens !== undefined
        ? { ...token, tokens: token.tokens.filter(({ type }) => type !== "checkbox") }
        : token,
    );
}

function table({ header, rows }: Tokens.Table): ComponentChild {
  const aligned = (align: Tokens.TableCell["align"]) => (align === null ? undefined : `align-${align}`);
  return (
    <TableView>
      <table dir="auto">
        <thead>
          <tr>
            {header.map((cell) => (
              <th scope="col" class={aligned(cell.align)}>
                {inline(cell.tokens)}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {rows.map((row) => (
            <tr>
              {row.map((cell) => (
                <td class={aligned(cell.align)}>{inline(cell.tokens)}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </TableView>
  );
}

function blocks(tokens: readonly Token[] = []): ComponentChildren {
  return tokens.map((token) => blockElement(token as AnyToken));
}

function inline(tokens: readonly Token[] = []): ComponentChildren {
  return tokens.map((token) => inlineElement(token as AnyToken));
}

function inlineElement(token: AnyToken): ComponentChild {
  // oxlint-disable-next-line typescript/switch-exhaustiveness-check -- the others are blocks, or of a newer parser
  switch (token.type) {
    case "strong":
      return <strong>{inline(token.tokens)}</strong>;
    case "em":
      return <em>{inline(token.tokens)}</em>;
    case "del":
      return <del>{inline(token.tokens)}</del>;
    case "codespan":
      return <code>{token.text}</code>;
    case "br":
      return <br />;
    case "link":
      return <Link href={token.href}>{inline(token.tokens)}</Link>;
    case "image": // a link, because loading it would reveal the user to its host
      return <Link href={token.href}>{token.text === "" ? token.href : token.text}</Link>;
    case "text":
      return token.tokens === undefined ? decodeHTML(token.text) : inline(token.tokens);
    case "escape":
      return token.text;
    case "footnoteRef":
      return <sup>{token.label}</sup>;
    case "math":
      return <Formula formula={token.formula} source={token.raw} isDisplay={token.isDisplay} />;
    case "html":
      return /^<br\s*\/?>$/i.test(token.raw) ? <br /> : token.raw;
    default:
      return token.raw;
  }
}

/** An external link, opened in a new tab; plain text if the URL scheme is not allowed. */
function Link({ href, children }: { readonly href: string; readonly children?: ComponentChildren }) {
  const address = safeLink(decodeHTML(href));
  if (address === undefined) return <>{children}</>;
  return (
    <a href={address} target="_blank" rel="noopener noreferrer nofollow">
      {children}
    </a>
  );
}
