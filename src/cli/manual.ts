// The manual page svc(1) as roff, generated from the command tree. Settings, which most commands take, are listed once.

import type { Command, Option } from "commander";
import { VERSION } from "../core/version.ts";
import { isSetting } from "./setting-flags.ts";

/** Files that svc reads or writes, by their default paths. */
const FILES = [
  ["~/.cache/svc", "unpacked native libraries, history of the terminal chat"],
  ["~/.cache/huggingface/hub", "downloaded models, shared with other tools"],
  ["~/.config/svc/svc.toml", "settings of the service that install.sh sets up"],
  ["/etc/svc/svc.toml", "settings of the system service (Debian package)"],
] as const;

const EXIT_CODES = [
  ["0", "Success; also a server that was asked to stop (Ctrl-C, SIGTERM)."],
  ["1", "Failure while running: the port is in use, a model does not load."],
  ["2", "Wrong command line or configuration; every problem is listed."],
] as const;

/** The page; `svc man` prints it. */
export function manualPage(program: Command): string {
  const commands = leaves(program, []);
  const settings = new Map(
    commands
      .flatMap(({ command }) => command.options.filter((option) => isSetting(option) && !option.hidden))
      .map((option) => [option.long, option]),
  );
  return [
    `.TH SVC 1 "" "svc ${VERSION}" "User commands"`,
    ".SH NAME",
    "svc \\- server for AI models on this machine",
    ".SH SYNOPSIS",
    ".B svc",
    "\\fICOMMAND\\fR [\\fIOPTIONS\\fR] [\\fIARGUMENTS\\fR]",
    ".SH DESCRIPTION",
    roff(program.description()),
    "Options that configure a server are settings: a flag, an environment variable (SVC_PORT for \\-\\-port) or a line of a " +
      "TOML file sets them, in this order of precedence. Every switch also has a \\-\\-no\\- form.",
    ".SH COMMANDS",
    ...commands.flatMap(section),
    ".SH SETTINGS",
    ...[...settings.values()].flatMap(item),
    ".SH EXIT STATUS",
    ...EXIT_CODES.flatMap(pair),
    ".SH FILES",
    ...FILES.flatMap(pair),
    ".SH SIGNALS",
    "SIGINT and SIGTERM drain running requests and end the server; a second one ends it at once. SIGHUP reloads the configuration; if the terminal has closed, it ends the server, unless nohup started it.",
    "",
  ].join("\n");
}

interface Leaf {
  readonly name: string;
  readonly command: Command;
}

/** Commands that do something, with their whole name. */
function leaves(parent: Command, path: readonly string[]): readonly Leaf[] {
  return parent
    .createHelp()
    .visibleCommands(parent)
    .filter((command) => command.name() !== "help")
    .flatMap((command) => {
      const names = [...path, command.name()];
      return command.commands.length > 0 ? leaves(command, names) : [{ name: names.join(" "), command }];
    });
}

function section({ name, command }: Leaf): readonly string[] {
  const words = command.registeredArguments.map((argument) => {
    const word = `${argument.name()}${argument.variadic ? " ..." : ""}`;
    return argument.required ? `<${word}>` : `[${word}]`;
  });
  const own = command.options.filter((option) => !isSetting(option) && !option.hidden);
  const hasSettings = command.options.some(isSetting);
  return [
    `.SS svc ${roff([name, ...words].join(" "))}`,
    roff(command.description()),
    ...own.flatMap(item),
    ...(hasSettings ? [".PP", "Takes settings."] : []),
  ];
}

function item(option: Option): readonly string[] {
  return [".TP", `.B ${roff(option.flags)}`, roff(option.description)];
}

function pair([term, meaning]: readonly [string, string]): readonly string[] {
  return [".TP", `.B ${roff(term)}`, roff(meaning)];
}

/** Text without meaning for roff: no escapes, no requests at a line's start, hyphens that can be copied. */
function roff(text: string): string {
  const escaped = text.replaceAll("\\", "\\e").replaceAll("-", "\\-").replaceAll("\n", " ");
  return escaped.replace(/^[.']/, "\\&$&");
}
