// `svc run`: a chat in the terminal, answered by a server that runs, or by models that are loaded here.

import { join } from "node:path";
import { startHint } from "../app/backend-advice.ts";
import { openChat } from "../app/chat.ts";
import type { ChatArgs, SettingsArgs } from "../cli/invocation.ts";
import { findServer, type ServerChat } from "../cli/server-chat.ts";
import { terminalChat, thinkingOf } from "../cli/terminal-chat.ts";
import { BUILTIN_MODEL_ID } from "../config/model-settings.ts";
import { type Loaded, loadSettings } from "../config/resolve.ts";
import type { Problem } from "../config/problem.ts";
import type { Environment } from "../config/sources.ts";
import { defined } from "../core/defined.ts";
import { reasonOf } from "../core/reason.ts";
import { type CommandHost, failed, hasEscapes } from "./host.ts";

/** Whether styles may be used on an output. See https://no-color.org. */
function mayColor(isTty: boolean, environment: Environment): boolean {
  return isTty && !environment["NO_COLOR"] && hasEscapes(environment);
}

/** Settings of flags or a file with which a running server can answer: its address, the model, the thinking. */
const OF_SERVER_CHATS =
  /^(?:command|thinking|reasoning_effort|adapter|assistant|server\.(?:host|port|api_keys)|models\[0\](?:\.model_id)?)$/;

/** The server that can answer a chat. One with settings of its own, or with `--local`, loads its model here. */
function serverFor({ settings, origins }: Loaded, isLocal: boolean): Promise<ServerChat | undefined> {
  const said = [...origins].filter(([, { type }]) => type !== "default");
  const here = said.filter(([path, { type }]) => type !== "env" && !OF_SERVER_CHATS.test(path));
  if (isLocal || here.length > 0) return Promise.resolve(undefined);
  const isModelNamed = said.some(([path]) => path === "models[0].model_id");
  return findServer(settings, isModelNamed).catch((cause: unknown) => {
    throw new Error(`${reasonOf(cause)} Without the server: --local.`, { cause });
  });
}

const MODEL_FLAG = "models[].model_id";

/**
 * For problems of settings: those of a chat whose `-m NAME` is nothing on this machine and an alias of the running server. Resolves to
 * undefined where there are other problems, or no server has it.
 */
export function namedByServer({ flags, configFile, isLocal }: SettingsArgs & ChatArgs) {
  const { [MODEL_FLAG]: named, ...others } = flags;
  const [name, ...more] = [named ?? []].flat();
  return async (problems: readonly Problem[]): Promise<Loaded | undefined> => {
    const isModelOnly = problems.every(({ key }) => key === "models[0].model_id");
    if (!isModelOnly || isLocal === true || configFile !== undefined) return undefined;
    if (typeof name !== "string" || more.length > 0) return undefined;
    const loaded = loadSettings({ command: "run", flags: { ...others, assistant: name } });
    const found = loaded.ok ? await findServer(loaded.settings, false).catch(() => undefined) : undefined;
    return loaded.ok && found !== undefined ? loaded : undefined;
  };
}

/** Which model answers where none is named: the newest one that was pulled or lies in `models_dir`, else the toy. */
function unnamedNote(model: string): string {
  const which = model === BUILTIN_MODEL_ID ? `the built-in toy, ${model}` : `${model}, the newest one here`;
  return `svc: no model is named: using ${which}. Name ${model === BUILTIN_MODEL_ID ? "a real" : "another"} one with -m MODEL.`;
}

/** Chats in the terminal, or answers one prompt. */
export async function chat(
  loaded: Loaded,
  { input, files, isLocal = false, choices = {} }: ChatArgs,
  host: CommandHost,
): Promise<number> {
  const { options, environment } = host;
  const thinking = thinkingOf(loaded.settings);
  const isTty = process.stdin.isTTY && process.stdout.isTTY;
  try {
    const server = await serverFor(loaded, isLocal);
    const isUnnamed = server === undefined && options.isToyUnasked === true;
    const hint =
      server === undefined && isTty && !isUnnamed ? startHint(loaded.settings, options.cacheDir) : undefined;
    if (hint !== undefined) host.complain(hint);
    const partner =
      server === undefined ? await openChat(options) : { ...server, close: () => Promise.resolve() };
    if (isUnnamed && (!isTty || input !== undefined)) host.complain(unnamedNote(partner.model));
    try {
      return await terminalChat({
        ...partner,
        input: process.stdin,
        output: process.stdout,
        errorOutput: process.stderr,
        isTty,
        colors: mayColor(isTty, environment),
        hasEscapes: isTty && hasEscapes(environment),
        files,
        historyFile: join(options.cacheDir, "chat-history"),
        choices: { ...defined({ thinking }), ...choices },
        ...defined({ prompt: input }),
      });
    } finally {
      await partner.close();
    }
  } catch (error) {
    return failed(host, error);
  }
}
