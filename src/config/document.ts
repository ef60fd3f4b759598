// svc.toml.example, the one list of all settings, generated from the settings table by `npm run generate`.

import { header, ROWS, SECTIONS, usableValues, type Row, type Section } from "./table.ts";
import { tomlValue } from "./show.ts";

const WIDTH = 100;
/** Words of a choice that are listed; of more the description says where they are. */
const WORDS_MAX = 12;

/** Path from the repository's root → content. */
export function documents(): Readonly<Record<string, string>> {
  return { "svc.toml.example": exampleToml() };
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
    "# All others are commented out and show the default, or an example of a setting without one; each is valid where",
    "# it stands. Use the file with `svc serve svc.toml`, check it with `svc config check svc.toml`. Names of flags and",
    "# of the environment follow from the key (docs/configuration.md); others are named.",
    "",
  ];
  const top = available("").flatMap(exampleLines);
  const comesFirst = ({ path }: Section): boolean => path === "server" || path.startsWith("models");
  const tables = SECTIONS.filter(({ path, isList }) => !isList || path === "models[]");
  const ordered = [...tables.filter(comesFirst), ...tables.filter((section) => !comesFirst(section))];
  return [...intro, ...top, ...ordered.flatMap(exampleSection), ""].join("\n");
}

function isOfSetUp({ path }: Row): boolean {
  return path in SET_UP;
}

function exampleSection(section: Section): readonly string[] {
  const rows = available(section.path);
  if (rows.length === 0) return [];
  const lists = SECTIONS.filter(({ path, isList }) => isList && path.startsWith(`${section.path}.`));
  return [
    "",
    ...comment(section.description),
    header(section),
    ...rows.filter(isOfSetUp).flatMap(exampleLines),
    ...rows.filter((row) => !isOfSetUp(row)).flatMap(exampleLines),
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
  const example = row.defaultValue === undefined ? " # example" : "";
  const text = [row.description, words(row), otherDefault(row), otherNames(row)]
    .filter((part) => part !== "")
    .join(" ");
  const line = isOfSetUp(row)
    ? `${row.key} = ${tomlValue(SET_UP[row.path])}`
    : `# ${row.key} = ${tomlValue(row.example)}${example}`;
  return [...comment(text), line];
}

/** The words of a choice that the description leaves out. */
function words(row: Row): string {
  const all = row.type === "choice" ? usableValues(row) : [];
  const isSaid = all.every((word) => row.description.includes(`\`${word}\``));
  return isSaid || all.length > WORDS_MAX ? "" : `One of ${all.join(", ")}.`;
}

/** The default where the set-up has another value. */
function otherDefault(row: Row): string {
  const isOther = isOfSetUp(row) && row.defaultValue !== undefined && row.defaultValue !== SET_UP[row.path];
  return isOther ? `Default: ${row.defaultValue}.` : "";
}

/** Keys, flags and environment names that do not follow from the key. */
function otherNames({ key, aliases, flag, short, env }: Row): string {
  const also = aliases.length === 0 ? "" : `Also ${aliases.join(", ")}.`;
  if (flag === undefined) return also === "" ? "No flag." : `${also} No flag.`;
  const usual = `SVC_${flag.slice(2).replaceAll("-", "_").toUpperCase()}`;
  const own = [
    ...(short === undefined ? [] : [short]),
    ...(flag === `--${key.replaceAll("_", "-")}` ? [] : [flag]),
    ...(env[0] === undefined || env[0] === usual ? [] : [env[0]]),
  ];
  return [also, own.length === 0 ? "" : `Flag: ${own.join(", ")}.`].filter((part) => part !== "").join(" ");
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
