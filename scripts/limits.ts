// Prints every constant of the `limits.ts` files, with its value and its comment, as Markdown:  npm run limits

import { readFileSync } from "node:fs";
import { dirname, join } from "node:path";

const ROOT = join(import.meta.dir, "..");

const ENTRY =
  /\/\*\*(?<comment>[^]*?)\*\/\n(?<constants>(?:export const [A-Z0-9_]+(?:: [^=]+)? =[^;]+;\n(?:\n(?!\/))?)+)/g;
const CONSTANT = /export const (?<name>[A-Z0-9_]+)(?:: [^=]+)? =\s*(?<value>[^;]+);/g;

/** Every room with a `limits.ts` has a section. */
function limitsPage(): string {
  const files = [...new Bun.Glob("src/**/limits.ts").scanSync(ROOT)].sort();
  const sections = files.map((file) => {
    const rows = entriesOf(readFileSync(join(ROOT, file), "utf8"));
    return [`## ${dirname(file)}`, "", "| Limit | Meaning |", "|---|---|", ...rows, ""].join("\n");
  });
  const intro = `# Limits

Bounds of queues, sizes, counts and times that are not settings.
`;
  return [intro, ...sections].join("\n");
}

function entriesOf(source: string): readonly string[] {
  return [...source.matchAll(ENTRY)].map(({ groups }) => {
    const constants = [...(groups?.["constants"] ?? "").matchAll(CONSTANT)].map(
      (found) => `\`${found.groups?.["name"] ?? ""} = ${oneLine(found.groups?.["value"] ?? "")}\``,
    );
    const comment = oneLine((groups?.["comment"] ?? "").replaceAll(/\n\s*\*/g, " "));
    return `| ${constants.join("<br>")} | ${comment} |`;
  });
}

function oneLine(text: string): string {
  return text.replaceAll(/\s+/g, " ").trim();
}

console.log(limitsPage());
