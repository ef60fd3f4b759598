// Slash commands of a chat: one row each; /help and completion are generated from them.

import { writeFileSync } from "node:fs";
import type { FileObject } from "../../core/agent.ts";
import { reasonOf } from "../../core/reason.ts";
import { DRAW_OPTIONS, paramOf } from "../../core/sampling.ts";
import { type Attachment, readAttachment, typedPath } from "./attachments.ts";
import { temperatureOf, THINK_LEVELS, thinkingOfLevel, topKOf, topPOf } from "./choices.ts";
import { type ChatState, textOf } from "./conversation.ts";
import type { ChatModel } from "../../core/model-info.ts";
import { loadChat, saveChat } from "./saved-chat.ts";
import type { ChatStats } from "./stats.ts";

/** State that a command may read and change. */
export interface CommandContext {
  readonly state: ChatState;
  readonly stats: ChatStats;
  /** Models that can be chosen. */
  readonly cards: readonly ChatModel[];
  /** Files made by tools, by name. */
  readonly made: ReadonlyMap<string, FileObject>;
}

/** Text to print, and the next action. */
export interface CommandOutcome {
  readonly text: string;
  readonly next?: "leave" | "retry";
  /** Text to put on the next input line. */
  readonly edit?: string;
  /** Text for the terminal's clipboard. */
  readonly copy?: string;
}

interface Command {
  readonly name: string;
  readonly argument?: string;
  readonly help: string;
  readonly aliases?: readonly string[];
  readonly takesPath?: boolean;
  /** Throws an error with a message for the user. */
  readonly run: (argument: string, context: CommandContext) => CommandOutcome | string;
}

const COMMANDS: readonly Command[] = [
  { name: "help", help: "show this", run: () => helpText() },
  {
    name: "exit",
    aliases: ["quit"],
    help: "leave (also Ctrl-D, or Ctrl-C twice)",
    run: () => ({ text: "", next: "leave" }),
  },
  { name: "system", argument: "TEXT", help: "set the system prompt (alone: remove it)", run: setSystem },
  {
    name: "clear",
    help: "clear the conversation and start a new session",
    run: (_, { state }) => {
      state.clear();
      return "The conversation is cleared.\n";
    },
  },
  {
    name: "retry",
    aliases: ["regenerate"],
    help: "answer the last question again",
    run: () => ({ text: "", next: "retry" }),
  },
  { name: "edit", help: "edit the last question and ask it again", run: edit },
  { name: "copy", help: "copy the last answer to the clipboard", run: copy },
  { name: "context", help: "tokens of the conversation, and room in the model's context", run: context },
  {
    name: "summary",
    help: "what stands for the oldest messages in the model's prompt",
    run: (_, { state }) => `${state.summary ?? "The model gets all messages."}\n`,
  },
  {
    name: "detach",
    help: "remove the attached files",
    run: (_, { state }) => {
      state.attached = [];
      return "Nothing is attached.\n";
    },
  },
  {
    name: "file",
    argument: "PATH",
    help: "attach a file to the next question",
    takesPath: true,
    run: attaching("file"),
  },
  {
    name: "image",
    argument: "PATH",
    help: "attach an image (PNG, JPEG, WebP, HEIC …)",
    takesPath: true,
    run: attaching("image"),
  },
  {
    name: "audio",
    argument: "PATH",
    help: "attach audio (WAV, MP3, FLAC)",
    takesPath: true,
    run: attaching("audio"),
  },
  {
    name: "video",
    argument: "PATH",
    help: "attach a video (MP4, WebM, …); the model sees its frames",
    takesPath: true,
    run: attaching("video"),
  },
  { name: "get", argument: "NAME", help: "write a file made by a tool into this folder", run: getFile },
  {
    name: "model",
    argument: "NAME",
    help: "continue with another model (alone: list them)",
    run: chooseModel,
  },
  { name: "think", argument: "LEVEL", help: `on, off, ${THINK_LEVELS.join(", ")}`, run: setThinking },
  {
    name: "temperature",
    argument: "N",
    help: "0 to 2; 0 always samples the most likely token",
    run: setTemperature,
  },
  { name: "topk", argument: "N", help: "sample from the N most likely tokens; 0: from all", run: setTopK },
  {
    name: "topp",
    argument: "N",
    help: "above 0, up to 1: sample from the most likely tokens whose probabilities add up to N",
    run: setTopP,
  },
  {
    name: "save",
    argument: "FILE",
    help: "write the conversation to a new file",
    takesPath: true,
    run: save,
  },
  { name: "load", argument: "FILE", help: "continue a saved conversation", takesPath: true, run: load },
  { name: "show", help: "the model, and what its answers are sampled with", run: show },
  { name: "stats", help: "tokens and speed so far", run: (_, { stats }) => stats.describe() },
];

/** Runs a line that begins with a slash. A command that fails returns the reason as its text. */
export function runCommand(line: string, context: CommandContext): CommandOutcome {
  const { word, argument } = split(line);
  const command = COMMANDS.find(({ name, aliases }) => name === word || aliases?.includes(word) === true);
  if (command === undefined) return { text: `/${word} is not a command; /help lists them.\n` };
  try {
    const outcome = command.run(argument, context);
    return typeof outcome === "string" ? { text: outcome } : outcome;
  } catch (error) {
    return { text: `/${word}: ${reasonOf(error)}\n` };
  }
}

/** Completions of the word before the cursor: commands, models, or a path that the caller completes. */
export function commandWords(line: string, models: readonly string[]): readonly string[] | "path" {
  if (!line.startsWith("/")) return [];
  const { word, argument } = split(line);
  if (!line.includes(" "))
    return COMMANDS.map(({ name }) => `/${name}`).filter((name) => name.startsWith(line));
  if (word === "model") return models.filter((name) => name.startsWith(argument));
  if (word === "think") return ["on", "off", ...THINK_LEVELS].filter((level) => level.startsWith(argument));
  return COMMANDS.some(({ name, takesPath }) => name === word && takesPath === true) ? "path" : [];
}

function split(line: string): { readonly word: string; readonly argument: string } {
  const [, word = "", argument = ""] = /^\/(\S*)\s*([^]*)$/.exec(line) ?? [];
  return { word, argument: argument.trim() };
}

function helpText(): string {
  const rows = COMMANDS.map(
    ({ name, argument, help }) => [`/${name}${argument === undefined ? "" : ` ${argument}`}`, help] as const,
  );
  const keys = [
    ["\\ at a line's end", "continues on the next line; pasted text may have several lines"],
    ["Ctrl-C", "stops an answer"],
  ] as const;
  const width = Math.max(...[...rows, ...keys].map(([words]) => words.length));
  return [...rows, ...keys].map(([words, help]) => `${words.padEnd(width)}  ${help}\n`).join("");
}

function edit(_: string, { state }: CommandContext): CommandOutcome | string {
  const question = state.takeBack();
  return question === undefined ? "No question yet.\n" : { text: "", edit: state.giveBack(question) };
}

function copy(_: string, { state }: CommandContext): CommandOutcome | string {
  const answer = state.messages.findLast(({ role }) => role === "assistant");
  if (answer === undefined) return "No answer yet.\n";
  return { text: "The last answer was sent to the terminal's clipboard.\n", copy: textOf(answer.content) };
}

function context(_: string, { state, stats, cards }: CommandContext): string {
  const used = stats.conversationTokens(state.messages.length > 0);
  const room = cards.find(({ id }) => id === state.model)?.contextTokens;
  if (room === undefined) return `${used} tokens; ${state.model} reports no context length.\n`;
  return `${used} of ${room} tokens (${Math.round((used / room) * 100)} %). /clear empties it.\n`;
}

function setSystem(text: string, { state }: CommandContext): string {
  state.chosenSystem = text === "" ? undefined : text;
  return text === "" ? "No system prompt.\n" : "The system prompt is set.\n";
}

function attaching(kind: Attachment["kind"]): Command["run"] {
  return (argument, { state }) => {
    if (argument === "") {
      const names = state.attached.map(({ param }) => param).join(", ");
      return names === "" ? `Nothing is attached; /${kind} PATH attaches one.\n` : `Attached: ${names}.\n`;
    }
    const part = readAttachment({ kind, path: typedPath(argument) });
    state.attached = [...state.attached, part];
    return `${part.param} is attached to your next question.\n`;
  };
}

function getFile(argument: string, { made }: CommandContext): string {
  if (made.size === 0) return "No tool has created a file yet.\n";
  const file = made.get(argument);
  if (file === undefined) return `Files so far: ${[...made.keys()].join(", ")}.\n`;
  const { name, text, data_base64: base64 } = file;
  if (text === undefined && base64 === undefined) return `${name} is too large for this chat.\n`;
  const target = name.replaceAll(/[/\\]/g, "_").replace(/^\.+/, "_"); // the name is chosen by a tool: the file stays in this folder
  writeFileSync(target, text ?? Buffer.from(base64 ?? "", "base64"), { flag: "wx" });
  return `${target} is written.\n`;
}

function chooseModel(name: string, { state, cards }: CommandContext): string {
  const models = cards.map(({ id }) => id);
  const card = cards.find(({ id }) => id === name);
  if (name === "") return models.map((model) => `${model === state.model ? "*" : " "} ${model}\n`).join("");
  if (card === undefined)
    return `No model ${name}. Models: ${models.join(", ")}. Start svc with -m to add one.\n`;
  state.card = card;
  return `The model is ${name}.\n`;
}

/** Values in use, each with whose word it is. */
function show(_: string, { state }: CommandContext): string {
  const { card, chosen, sampling } = state;
  const row = (name: string, value: number, own: unknown): string => {
    const from = own === undefined ? card.presetFrom?.[name] : "you";
    return `${name} ${value}${from === undefined ? "" : ` (${from})`}\n`;
  };
  return [
    `${card.id}${card.contextTokens === undefined ? "" : `, context ${card.contextTokens} tokens`}\n`,
    ...DRAW_OPTIONS.map((name) => row(name, sampling[paramOf(name)], chosen[paramOf(name)])),
  ].join("");
}

function setThinking(level: string, { state }: CommandContext): string {
  if (level !== "") state.chosenThinking = thinkingOfLevel(level);
  const { enabled, effort } = state.thinking;
  return `Thinking is ${enabled ? (effort ?? "on") : "off"}.\n`;
}

function setTemperature(text: string, { state }: CommandContext): string {
  if (text !== "") state.chosen = { ...state.chosen, temperature: temperatureOf(text) };
  return `The temperature is ${state.sampling.temperature}.\n`;
}

function setTopK(text: string, { state }: CommandContext): string {
  if (text !== "") state.chosen = { ...state.chosen, topK: topKOf(text) };
  const { topK } = state.sampling;
  return topK === 0 ? "top-k is off.\n" : `top-k is ${topK}.\n`;
}

function setTopP(text: string, { state }: CommandContext): string {
  if (text !== "") state.chosen = { ...state.chosen, topP: topPOf(text) };
  const { topP } = state.sampling;
  return topP === 1 ? "top-p is off.\n" : `top-p is ${topP}.\n`;
}

function save(argument: string, { state }: CommandContext): string {
  if (argument === "") throw new Error("name a FILE");
  const file = typedPath(argument);
  saveChat(file, state);
  return `${state.messages.length} messages are saved in ${file}.\n`;
}

function load(argument: string, { state }: CommandContext): string {
  if (argument === "") throw new Error("name a FILE");
  const { system, messages } = loadChat(typedPath(argument));
  state.clear();
  state.chosenSystem = system;
  state.messages = messages;
  return `${messages.length} messages${system === undefined ? "" : ", and a system prompt,"} are loaded.\n`;
}
