// svc.toml.example and docs/settings.md, generated from the settings table by `npm run generate`.

import { header, ROWS, SECTIONS, usableValues, type Row, type Section } from "./table.ts";
import { tomlValue } from "./show.ts";

const WIDTH = 100;
/** Words of a choice that the page lists; of more the description says where they are. */
const WORDS_MAX = 12;

/** Path from the repository's root → content. */
export function documents(): Readonly<Record<string, string>> {
  return { "svc.toml.example": exampleToml(), "docs/settings.md": settingsMarkdown() };
}

/** The small set-up of the example file: the lines that are not commented out. */
const SET_UP: Readonly<Record<string, unknown>> = {
  "server.host": "127.0.0.1",
  "server.port": 1234,
  "models[].model_id": "Qwen/Qwen3-4B-GGUF",
  "models[].alias": "qwen",
  "models[].device.max_seq_len": 16_384,
};

/** A small set-up, and every other available setting commented out where it can stand. */
function exampleToml(): string {
  const intro = [
    "# Settings of svc. The lines without # are a small set-up: this machine only, one model of the Hugging Face hub.",
    "# All other settings are commented out and show the default, or an example; each is valid where",
    "# it stands. Use the file with `svc serve svc.toml`, check it with `svc config check svc.toml`. Flags override the",
    "# environment, which overrides this file. docs/settings.md lists flags and environment names. Relative paths start at",
    "# this file's folder.",
    "",
  ];
  const top = available("").flatMap(exampleLines);
  const isOfSetUp = ({ path }: Section): boolean => path === "server" || path.startsWith("models");
  const tables = SECTIONS.filter(({ path, isList }) => !isList || path === "models[]");
  const ordered = [...tables.filter(isOfSetUp), ...tables.filter((section) => !isOfSetUp(section))];
  return [...intro, ...top, ...ordered.flatMap(exampleSection), ""].join("\n");
}

function exampleSection(section: Section): readonly string[] {
  const rows = available(section.path);
  if (rows.length === 0) return [];
  const lists = SECTIONS.filter(({ path, isList }) => isList && path.startsWith(`${section.path}.`));
  return [
    "",
    ...comment(section.description),
    header(section),
    ...rows.flatMap((row) => (row.path in SET_UP ? [`${row.key} = ${tomlValue(SET_UP[row.path])}`] : [])),
    ...rows.filter((row) => !(row.path in SET_UP)).flatMap(exampleLines),
    ...lists.flatMap(exampleList),
  ];
}

/** A list of tables within a section, in one line. */
function exampleList({ path, description }: Section): readonly string[] {
  const rows = available(path);
  const name = path.slice(path.lastIndexOf(".") + 1).replace("[]", "");
  const members = rows.map((row) => `${row.key} = ${tomlValue(row.example)}`).join(", ");
  return [
    ...comment(description),
    ...rows.flatMap((row) => comment(`- ${row.key}: ${row.description}`)),
    `# ${name} = [{ ${members} }]`,
  ];
}

function exampleLines(row: Row): readonly string[] {
  const words = row.type === "choice" ? ` One of ${usableValues(row).join(", ")}.` : "";
  return [...comment(row.description + words), `# ${row.key} = ${tomlValue(row.example)}`];
}

function settingsMarkdown(): string {
  const intro = `# Settings

Made by \`npm run generate\` from the table in \`src/config/settings.ts\`, as are \`svc.toml.example\` and \`--help\`.

A setting can be given as a flag, in the environment or in a TOML file; flags win over the environment, the environment
over the file, the file over the default. \`svc config show\` prints what is in force and where it comes from, \`svc config
check\` every problem at once. An unknown name stops the start, and so does one that is known but refused or without
effect in this version (\`from_uqff\`, \`xlora\`, \`topology\`, \`tokenizer\` and others), with its reason.

- **Flag.** The key with hyphens (\`max_seqs\`: \`--max-seqs\`), unless another one stands in parentheses. A key with * has none.
- **Environment.** \`SVC_\` and the flag in capitals, \`SVC_MAX_SEQS\`; else the same with \`SERVICE_\`. An empty text counts as
  not set.
- **Switches** are off where no default is named, and have a \`--no-\` form: \`--no-cpu\`. In the environment: \`true\`, \`1\`, \`yes\`, \`on\` and their opposites.
- **Models.** \`-m\` may be repeated. Models named by flags replace those of the environment and of the file. A flag
  about a model (\`--cpu\`, \`--max-seq-len\`) holds for all of them.
- **Paths** in a file start at the folder of that file, others at the working directory.
`;
  const top: Section = { path: "", description: "Outside of any section.", isList: false };
  const sections = [top, ...SECTIONS].flatMap((section) => {
    const rows = available(section.path);
    if (rows.length === 0) return [];
    const title = section.path === "" ? "Top level" : `\`${header(section)}\``;
    return [`## ${title}`, "", section.description, "", ...table(rows), ""];
  });
  return [intro, ...sections].join("\n");
}

function table(rows: readonly Row[]): readonly string[] {
  const lines = rows.map((row) => {
    const isPlain = row.defaultValue === undefined || row.defaultValue === false;
    const fallback = isPlain ? "" : code(String(row.defaultValue));
    return `|${names(row)}|${fallback}|${meaning(row)}|`;
  });
  return ["|Key|Default|Meaning|", "|---|---|---|", ...lines];
}

/** The key, with its flag and environment name where they do not follow from it. */
function names(row: Row): string {
  const keys = [row.key, ...row.aliases].map(code).join(", ");
  if (row.flag === undefined) return `${keys}*`;
  const flags = row.flag === `--${row.key.replaceAll("_", "-")}` ? [] : [row.flag];
  const usual = `SVC_${row.flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
  const env = row.env[0] === undefined || row.env[0] === usual ? [] : [row.env[0]];
  const others = [...(row.short === undefined ? [] : [row.short]), ...flags, ...env].map(code);
  return others.length === 0 ? keys : `${keys} (${others.join(", ")})`;
}

/** The words of a choice stand before a description that leaves some out. `svc config check` knows forms and ranges. */
function meaning(row: Row): string {
  const words = row.type === "choice" ? usableValues(row).map(code) : [];
  if (words.length > WORDS_MAX) return row.description;
  const isSaid = words.every((word) => row.description.includes(word));
  return isSaid ? row.description : `${words.join(", ")}. ${row.description}`;
}

function available(section: string): readonly Row[] {
  return ROWS.filter((row) => row.section === section && row.status === "available");
}

/** Wraps a text into comment lines. */
function comment(text: string): readonly string[] {
  const lines: string[] = [];
  for (const word of text.split(" ")) {
    const last = lines.at(-1);
    if (last === undefined || last.length + word.length >= WIDTH) lines.push(`# ${word}`);
    else lines[lines.length - 1] = `${last} ${word}`;
  }
  return lines;
}

function code(text: string): string {
  return `\`${text}\``;
}
