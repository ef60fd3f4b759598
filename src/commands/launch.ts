// `svc launch`: asks the server for the model, writes the client's configuration, warns, starts the client.

import { join } from "node:path";
import { EXIT } from "../cli/invocation.ts";
import type { LaunchCommand } from "../cli/launch-args.ts";
import { AnswerError, ServerClient, type ServedModel } from "../cli/server-client.ts";
import { columns } from "../cli/table.ts";
import { type Client, type Connection, shownPath, type Target } from "../clients/client.ts";
import { CLIENTS, clientNamed } from "../clients/clients.ts";
import { connect, disconnect, type Places } from "../clients/place.ts";
import { fileText, startText } from "../clients/text.ts";
import { configFolder } from "../config/cache-folder.ts";
import type { Settings } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import { fromHome, userHome } from "../core/user-home.ts";
import { withLock } from "../hub/lock.ts";
import type { CommandHost } from "./host.ts";

type Host = Pick<CommandHost, "environment" | "complain">;

/** Context of a model that has not been loaded yet, tokens. */
const CONTEXT_TOKENS = 32_768;

/** Connects a client and starts it. Resolves to an exit code, that of the client. Throws a sentence for people. */
export async function launch(command: LaunchCommand, settings: Settings, host: Host): Promise<number> {
  const client = command.client === undefined ? undefined : clientNamed(command.client);
  if (client === undefined) {
    process.stdout.write(clientTable(host));
    return EXIT.ok;
  }
  if (command.action === "remove") return remove(client, host);
  const server = new ServerClient(settings.server, addressOf(command.url));
  if (!server.url.startsWith("http")) throw new Error(`${client.name} reaches no UNIX socket; use --url`);
  const card = await modelCard(server, command.model);
  for (const line of await warnings(client, card, server)) host.complain(`svc: ${line}`);
  const target = targetOf(server, card, command.model);
  const connection = client.connect(target);
  const file = connection.file;
  if (command.action === "print") {
    process.stdout.write(
      `${file === undefined ? "" : `# ${shownPath(file)}\n${fileText(file)}\n`}${startText(client, connection)}`,
    );
    return EXIT.ok;
  }
  if (file !== undefined) {
    const places = placesOf(host);
    const { path, isNew } = await alone(places, () => connect(file, places, target.key));
    if (isNew) host.complain(`svc: svc is in ${path}; svc launch ${client.id} --remove takes it out`);
  }
  if (command.action === "start") return start(client, connection, command.args, host);
  process.stdout.write(startText(client, connection));
  return EXIT.ok;
}

/** An address of the command line. */
function addressOf(url: string | undefined): string | undefined {
  if (url === undefined) return undefined;
  if (!/^https?:\/\/[^\s/]+/.test(url)) throw new Error(`--url ${url} is no address; use http://HOST:PORT`);
  return url.replace(/\/+$/, "").replace(/\/v1$/, "");
}

/** The card of the model that is named, else of the server's default. */
async function modelCard(server: ServerClient, name: string | undefined): Promise<ServedModel> {
  const models = (await server.models()).filter(({ kind }) => kind === "text");
  const served = `Served: ${models.map(({ id }) => id).join(", ")}.`;
  const [first] = models;
  if (first === undefined) throw new Error(`${server.url} has no text model.`);
  if (name === undefined || name === "default") return first;
  const listed = models.find(({ id }) => id === name);
  if (listed !== undefined) return listed;
  try {
    return (await server.json(`/v1/models/${encodeURIComponent(name)}`)) as ServedModel; // an alias
  } catch (error) {
    if (error instanceof AnswerError)
      throw new Error(`No model ${name} is served. ${served}`, { cause: error });
    throw error;
  }
}

function targetOf(server: ServerClient, card: ServedModel, name: string | undefined): Target {
  return {
    root: server.url,
    model: name ?? "default",
    key: server.key ?? "none",
    context: card.context_length ?? CONTEXT_TOKENS,
    images: card.modalities?.includes("image") === true,
  };
}

/** Why the client may not work well with the model, sentences. */
async function warnings(client: Client, card: ServedModel, server: ServerClient): Promise<readonly string[]> {
  const { name, needs } = client;
  const { id, context_length: context, capabilities, chat_template: template } = card;
  const hints: string[] = [];
  if (context !== undefined && context < needs.context)
    hints.push(
      `${name} needs a context of about ${needs.context} tokens, ${id} has ${context}; start the server with --max-seq-len ${needs.context}, or use another model`,
    );
  if (needs.tools && (capabilities?.["tools"] === false || template === "none"))
    hints.push(`${name} works by tool calls, for which ${id} was not trained; use another model`);
  if (needs.compat && (await modeOf(server)) === "strict")
    hints.push(`the server refuses requests of ${name}; start it with --compat clients`);
  return hints;
}

/** The compatibility mode of the server; undefined where it does not say. */
async function modeOf(server: ServerClient): Promise<unknown> {
  const info = await server.json("/v1/system/info").catch(() => undefined);
  return typeof info === "object" && info !== null && "compat" in info ? info.compat : undefined;
}

function placesOf({ environment }: Host): Places {
  const home = userHome();
  if (home === undefined) throw new Error("there is no home folder for configurations; set HOME");
  return { home, environment, note: join(configFolder(environment), "launched.json") };
}

/** One command at a time writes files and the notes of them. */
function alone<T>({ note }: Places, work: () => T): Promise<T> {
  return withLock(`${note}.lock`, async () => work());
}

async function remove(client: Client, host: Host): Promise<number> {
  const nothing: Target = {
    root: "http://localhost",
    model: "default",
    key: "none",
    context: 0,
    images: false,
  };
  const { file } = client.connect(nothing);
  const places = placesOf(host);
  const path = file === undefined ? undefined : await alone(places, () => disconnect(file, places));
  const none =
    file === undefined ? `${client.name} is given its configuration when it starts` : "it was not there";
  console.log(path === undefined ? `Nothing to remove: ${none}.` : `svc is no longer in ${path}.`);
  return EXIT.ok;
}

function programOf({ programs }: Client, { environment }: Host): string | undefined {
  const path = defined({ PATH: environment["PATH"] });
  return programs.flatMap((name) => Bun.which(name, path) ?? []).at(0);
}

/** Starts the client on this terminal. Its exit code. */
async function start(
  client: Client,
  { variables, args }: Connection,
  more: readonly string[],
  host: Host,
): Promise<number> {
  const program = programOf(client, host);
  if (program === undefined) {
    const name = client.programs.join(" or ");
    throw new Error(`${name} is not on PATH. ${client.name} is installed by: ${client.install}`);
  }
  const child = Bun.spawn([program, ...args.map(fromHome), ...more], {
    env: { ...host.environment, ...variables },
    stdio: ["inherit", "inherit", "inherit"],
  });
  // The terminal sends Ctrl-C to both; what is sent to svc alone is passed on.
  const pass = (signal: NodeJS.Signals) => () => child.kill(signal);
  process.on("SIGINT", () => undefined);
  process.on("SIGTERM", pass("SIGTERM"));
  process.on("SIGHUP", pass("SIGHUP"));
  return child.exited;
}

function clientTable(host: Host): string {
  const rows = CLIENTS.map((client) => [
    client.id,
    client.name,
    client.speaks,
    String(client.needs.context),
    programOf(client, host) ?? `not found; ${client.install}`,
  ]);
  return columns([["NAME", "PROGRAM", "SPEAKS", "CONTEXT", "FOUND"], ...rows], (column) => column === 3);
}
