// Completion scripts for bash, zsh and fish, generated from the command tree. They are self-contained: completing a word does
// not start svc. Models are those that the hub's folder has.
// Rejected: libraries that start the executable of over 100 MB at every Tab.

import type { Command, Option } from "commander";

export const SHELLS = ["bash", "zsh", "fish"] as const;
export type Shell = (typeof SHELLS)[number];

/** A command as a shell completes it. */
interface Node {
  /** Words after `svc`: `cache delete`. Empty for svc itself. */
  readonly path: readonly string[];
  readonly description: string;
  readonly commands: readonly { readonly name: string; readonly description: string }[];
  readonly options: readonly Choice[];
  /** Words that its first argument can be. */
  readonly words: readonly string[];
  /** Its argument is a model. */
  readonly takesModel: boolean;
}

/** An option as a shell completes it. */
interface Choice {
  /** `-p`, `--port`. */
  readonly names: readonly string[];
  readonly description: string;
  readonly takesValue: boolean;
  /** Words that its value can be; empty: a file, or anything. */
  readonly values: readonly string[];
  readonly isRepeatable: boolean;
  readonly takesModel: boolean;
}

/** Prints the downloaded models of a hub's folder, which is written into it. */
const LIST_MODELS = String.raw`ls "$hub" 2>/dev/null | sed -n 's/^models--//p' | sed 's/--/\//'`;

/** The same as a function of bash and zsh. */
const MODELS_FUNCTION = `_svc_models() {
  local hub="\${HF_HUB_CACHE:-\${HF_HOME:-\${XDG_CACHE_HOME:-$HOME/.cache}/huggingface}/hub}"
  ${LIST_MODELS}
}`;

/** Words of an option's value in bash that stand for models and files. */
const MODEL_VALUES = "<model>";

/** The script for a shell; `svc completions SHELL` prints it. */
export function completionScript(program: Command, shell: Shell): string {
  const nodes = nodesOf(program, []);
  switch (shell) {
    case "bash":
      return bashScript(nodes);
    case "zsh":
      return zshScript(nodes);
    case "fish":
      return fishScript(nodes);
  }
}

function nodesOf(command: Command, path: readonly string[]): readonly Node[] {
  const help = command.createHelp();
  const children = help.visibleCommands(command).filter((child) => child.name() !== "help");
  const node: Node = {
    path,
    description: command.description(),
    commands: children.map((child) => ({ name: child.name(), description: child.description() })),
    options: help.visibleOptions(command).map(choiceOf),
    words: command.registeredArguments[0]?.argChoices ?? [],
    takesModel: command.registeredArguments[0]?.name() === "model",
  };
  return [node, ...children.flatMap((child) => nodesOf(child, [...path, child.name()]))];
}

function choiceOf(option: Option): Choice {
  const { short, long, description, required, optional, argChoices, flags, parseArg } = option;
  // A list of words in the flag itself: `--mode <auto|on|off>`.
  const inFlag = /<([^<>]*\|[^<>]*)>/.exec(flags)?.[1]?.split("|") ?? [];
  return {
    names: [short, long].filter((name) => name !== undefined),
    description: description.split(/\.(?:\s|$)/)[0] ?? "",
    takesValue: required || optional,
    values: argChoices ?? inFlag,
    isRepeatable: parseArg !== undefined, // which gathers the values; the others are texts
    takesModel: flags.endsWith(MODEL_VALUES),
  };
}

/** In single quotes, valid in all three shells. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", "’")}'`;
}

/**
 * One `case` finds the command by the words so far, a second one the values of an option.
 */
function bashScript(nodes: readonly Node[]): string {
  const cases = nodes.map(({ path, commands, options, words, takesModel }) => {
    const names = options.flatMap((option) => option.names).join(" ");
    const first = takesModel ? MODEL_VALUES : [...commands.map(({ name }) => name), ...words].join(" ");
    return `    ${quoted(path.join(" "))}) words=${quoted(first)} options=${quoted(names)} ;;`;
  });
  const paths = nodes.map(({ path }) => quoted(path.join(" "))).join("|");
  const valued = nodes.flatMap(({ path, options }) =>
    options
      .filter(({ takesValue }) => takesValue)
      .flatMap(({ names, values, takesModel }) =>
        names.map((name) => {
          const offered = takesModel ? MODEL_VALUES : values.join(" ");
          return `    ${quoted([...path, name].join(" "))}) values=${quoted(offered)} ;;`;
        }),
      ),
  );
  return `# bash completion of svc. Use it with:  source <(svc completions bash)
${MODELS_FUNCTION}
_svc() {
  local current="\${COMP_WORDS[COMP_CWORD]}" previous="\${COMP_WORDS[COMP_CWORD-1]}"
  local command='' words='' options='' values='-' word next
  for word in "\${COMP_WORDS[@]:1:COMP_CWORD-1}"; do
    next="\${command:+$command }$word"
    case "$next" in
      ${paths}) command="$next" ;;
    esac
  done
  case "$command" in
${cases.join("\n")}
  esac
  case "\${command:+$command }$previous" in
${valued.join("\n")}
  esac
  if [[ "$values" == '${MODEL_VALUES}' || ( "$values" == '-' && "$words" == '${MODEL_VALUES}' && "$current" != -* ) ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -W "$(_svc_models)" -- "$current"; compgen -f -- "$current")
  elif [[ "$values" != '-' ]]; then
    if [[ -n "$values" ]]; then
      COMPREPLY=($(compgen -W "$values" -- "$current"))
    else
      compopt -o filenames 2>/dev/null
      mapfile -t COMPREPLY < <(compgen -f -- "$current")
    fi
  elif [[ "$current" == -* ]]; then
    COMPREPLY=($(compgen -W "$options" -- "$current"))
  elif [[ -n "$words" ]]; then
    COMPREPLY=($(compgen -W "$words" -- "$current"))
  else
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$current")
  fi
}
complete -F _svc svc
`;
}

/** Escapes characters that _arguments interprets. */
function zshText(text: string): string {
  return text.replaceAll(/[[\]:\\]/g, "\\$&");
}

function zshScript(nodes: readonly Node[]): string {
  const functions = nodes.map(({ path, commands, options, words, takesModel: isOfModel }) => {
    const specs = options.flatMap(({ names, description, takesValue, values, isRepeatable, takesModel }) =>
      names.map((name) => {
        const often = isRepeatable ? "*" : "";
        const other = takesModel ? "_svc_model_or_file" : "_files";
        const action = values.length > 0 ? `(${values.join(" ")})` : other;
        return quoted(`${often}${name}[${zshText(description)}]${takesValue ? `:value:${action}` : ""}`);
      }),
    );
    const rest =
      commands.length > 0
        ? ["'1: :->command'", "'*:: :->rest'"]
        : [
            quoted(
              `*: :${words.length > 0 ? `(${words.join(" ")})` : isOfModel ? "_svc_model_or_file" : "_files"}`,
            ),
          ];
    const list = commands.map(({ name, description }) => quoted(`${name}:${zshText(description)}`)).join(" ");
    const prefix = functionName(path);
    const descend = `
  case $state in
    command) local -a commands=(${list}); _describe command commands ;;
    rest) (( \${+functions[${prefix}_\${words[1]//-/_}]} )) && ${prefix}_\${words[1]//-/_} ;;
  esac`;
    return `${prefix}() {
  local state context line
  typeset -A opt_args
  _arguments -C ${[...specs, ...rest].join(" ")}${commands.length > 0 ? descend : ""}
}`;
  });
  return `#compdef svc
# zsh completion of svc. Use it with:  source <(svc completions zsh)
${MODELS_FUNCTION}
_svc_model_or_file() {
  local -a models=(\${(f)"$(_svc_models)"})
  compadd -a models
  _files
}
${functions.join("\n")}
compdef _svc svc
`;
}

function functionName(path: readonly string[]): string {
  return ["_svc", ...path].join("_").replaceAll("-", "_");
}

function fishScript(nodes: readonly Node[]): string {
  const lines = nodes.flatMap(({ path, commands, options, words, takesModel: isOfModel }) => {
    const within = path.map((word) => `__fish_seen_subcommand_from ${word}`);
    const none = commands.map(({ name }) => name).join(" ");
    const outside = none === "" ? [] : [`not __fish_seen_subcommand_from ${none}`];
    const condition = [...within, ...outside].join("; and ") || "true";
    const start = `complete -c svc -n ${quoted(condition)}`;
    return [
      ...commands.map(({ name, description }) => `${start} -f -a ${name} -d ${quoted(description)}`),
      ...words.map((word) => `${start} -f -a ${word}`),
      ...(isOfModel ? [`${start} -a '(__svc_models)'`] : []),
      ...options.map(({ names, description, takesValue, values, takesModel }) => {
        const flags = names.map((name) =>
          name.startsWith("--") ? `-l ${name.slice(2)}` : `-s ${name.slice(1)}`,
        );
        const other = takesModel ? " -r -a '(__svc_models)'" : takesValue ? " -r" : "";
        const value = values.length > 0 ? ` -x -a ${quoted(values.join(" "))}` : other;
        return `${start} ${flags.join(" ")}${value} -d ${quoted(description)}`;
      }),
    ];
  });
  return `# fish completion of svc. Use it with:  svc completions fish | source
function __svc_models
  set -l home $HOME/.cache/huggingface
  set -q HF_HOME; and set home $HF_HOME
  set -l hub $home/hub
  set -q HF_HUB_CACHE; and set hub $HF_HUB_CACHE
  ${LIST_MODELS}
end
complete -c svc -e
${lines.join("\n")}
`;
}
