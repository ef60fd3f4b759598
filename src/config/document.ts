// svc.toml.example and docs/settings.md, generated from the settings table by `npm run generate`.

import { expected } from "./check.ts";
import { header, ROWS, sectionAt, SECTIONS, usableValues, type Row, type Section } from "./table.ts";
import { tomlValue } from "./show.ts";

const WIDTH = 100;

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

One table in \`src/config/settings.ts\` holds every setting; this page, \`svc.toml.example\` and \`--help\` are made from it
by \`npm run generate\`.

A setting can be given as a flag, in the environment or in a TOML file; flags win over the environment, the environment
over the file, the file over the default. \`svc config show\` prints what is in force and who said it, \`svc config check\`
every problem at once. A name that is not known stops the start.

- **Environment.** \`SVC_\` and the flag in capitals; the spelling with \`SERVICE_\` is read where the first is not set.
  An empty text counts as not set.
- **Switches** have a \`--no-\` form: \`--no-cpu\`. In the environment: \`true\`, \`1\`, \`yes\`, \`on\` and their opposites.
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
  return [intro, ...sections, ...unavailable()].join("\n");
}

function table(rows: readonly Row[]): readonly string[] {
  const lines = rows.map((row) => {
    const names = [row.key, ...row.aliases].map(code).join(", ");
    const flags = [row.short, row.flag].flatMap((flag) => (flag === undefined ? [] : code(flag))).join(", ");
    const env = row.env[0] === undefined ? "" : code(row.env[0]);
    const fallback = row.defaultValue === undefined ? "" : code(tomlValue(row.defaultValue));
    return `| ${names} | ${flags} | ${env} | ${fallback} | ${accepts(row)} | ${row.description} |`;
  });
  return [
    "| Key | Flag | Environment | Default | Accepts | Meaning |",
    "|---|---|---|---|---|---|",
    ...lines,
  ];
}

function accepts(row: Row): string {
  if (row.isPath) return "a file";
  if (row.isFolder) return "a folder";
  return row.type === "choice" ? usableValues(row).map(code).join(", ") : expected(row);
}

function unavailable(): readonly string[] {
  const line = (row: Row): string => {
    const section = sectionAt(row.section);
    const place = section === undefined ? "" : `${header(section)} `;
    return `- \`${place}${row.key}\`: ${row.description}`;
  };
  return [
    "## Known, without effect in this version",
    "",
    "These names belong to the interface. Setting one to anything but its default stops the start.",
    "",
    ...ROWS.filter((row) => row.status === "later").map(line),
    "",
    "## Known and refused",
    "",
    ...ROWS.filter((row) => row.status === "never").map(line),
    "",
  ];
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
