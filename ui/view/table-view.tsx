// Frame of a table with buttons that copy and download it as CSV.

import { Download } from "lucide";
import type { ComponentChildren } from "preact";
import { useRef } from "preact/hooks";
import { saveFile } from "../save-file.ts";
import { CopyButton } from "./code-block.tsx";
import { Icon } from "./icon.tsx";
import { t } from "../texts/texts.ts";

export function TableView({ children }: { readonly children: ComponentChildren }) {
  const box = useRef<HTMLDivElement>(null);
  const csv = (): string =>
    csvOf(
      [...(box.current?.querySelector("table")?.rows ?? [])].map((row) =>
        [...row.cells].map((cell) => cell.textContent),
      ),
    );
  return (
    <div class="table-view">
      {/* A scrollable box must be focusable by keyboard. */}
      <div class="table-scroll" tabIndex={0} role="region" aria-label={t.blocks.table} ref={box}>
        {children}
      </div>
      <div class="table-actions">
        <CopyButton text={csv} label={t.blocks.copyTable} />
        <button
          type="button"
          class="ghost"
          aria-label={t.blocks.downloadTable}
          title={t.blocks.downloadTable}
          onClick={() => saveFile("table.csv", [csv()])}
        >
          <Icon node={Download} size={15} />
        </button>
      </div>
    </div>
  );
}

/** Rows as CSV (RFC 4180). */
export function csvOf(rows: readonly (readonly string[])[]): string {
  const field = (text: string): string =>
    /[",\r\n]|^\s|\s$/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
  return rows.map((row) => `${row.map(field).join(",")}\r\n`).join("");
}
