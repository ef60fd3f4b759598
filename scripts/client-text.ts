// Programs that `svc launch` connects, for docs/clients.md.

import { type Client, shownPath, type Target } from "../src/clients/client.ts";
import { CLIENTS } from "../src/clients/clients.ts";
import { fileText, startText } from "../src/clients/text.ts";

const TARGET: Target = {
  root: "http://localhost:1234",
  model: "default",
  key: "none",
  context: 32_768,
  images: false,
};

/** A table of the clients, and what `svc launch` writes and starts for each. */
export function clientText(): string {
  const rows = CLIENTS.map(
    ({ id, name, speaks, needs }) =>
      `| \`${id}\` | ${name} | ${speaks} | ${needs.context.toLocaleString("en")} |`,
  );
  const table = ["| Name | Program | Speaks | Context from |", "|---|---|---|--:|", ...rows].join("\n");
  return [table, ...CLIENTS.map(section)].join("\n\n");
}

function section(client: Client): string {
  const connection = client.connect(TARGET);
  const { file } = connection;
  const parts = [
    `## ${client.name}`,
    ...(file === undefined ? [] : [`\`${shownPath(file)}\`:`, fenced(file.format, fileText(file))]),
    ...(client.needs.compat ? ["Requires `--compat clients`."] : []),
    ...client.notes,
    fenced("sh", startText(client, connection), "<!-- not run: starts another program -->\n"),
  ];
  return parts.join("\n\n");
}

function fenced(language: string, text: string, before = ""): string {
  return `${before}\`\`\`${language}\n${text}\`\`\``;
}
