// Types of parsed command lines.

import { defined } from "../core/defined.ts";
import type { HubQuery } from "../core/hub.ts";
import type { Attachment } from "./chat/attachments.ts";
import type { ChatChoices } from "./chat/choices.ts";
import type { KeysCommand } from "./keys-args.ts";
import type { LaunchCommand } from "./launch-args.ts";
import type { ServerCommand } from "./server-commands.ts";
import type { Flags } from "../config/sources.ts";
import type { UsageCommand } from "./usage-table.ts";
import type { TuneProfile } from "../core/measure.ts";
import type { BackendCommand } from "../backends/command.ts";
import type { RpcWorkerCommand } from "../rpc/command.ts";

/** Exit codes of the process. */
export const EXIT = { ok: 0, failure: 1, usage: 2 } as const;

/** Sources of settings that a command line names. */
export interface SettingsArgs {
  readonly configFile?: string;
  readonly flags: Flags;
}

/** Arguments of a chat. */
export interface ChatArgs {
  /** One-shot: the prompt to answer. */
  readonly input?: string;
  /** Attached to the first question. */
  readonly files: readonly Attachment[];
  /** Load the model here, even if a running server has it. */
  readonly isLocal?: boolean;
  readonly choices?: ChatChoices;
}

/** Measurements of a bench: every combination of the lists. */
export interface BenchArgs {
  readonly promptLens: readonly number[];
  readonly depths: readonly number[];
  readonly genLens: readonly number[];
  readonly concurrencies: readonly number[];
  readonly repetitions: number;
  /** Also measure what the machine allows. */
  readonly roofline: boolean;
  readonly json: boolean;
}

/** A parsed command line. */
export type Invocation =
  | ({ readonly command: "serve" } & SettingsArgs)
  | ({ readonly command: "run" } & ChatArgs & SettingsArgs)
  | ({ readonly command: "from-config" } & ChatArgs & SettingsArgs)
  | ({ readonly command: "config-check" } & SettingsArgs)
  | ({ readonly command: "config-show" } & SettingsArgs)
  | ({
      readonly command: "doctor";
      readonly json: boolean;
      /** Installs what is missing for a graphics card; absent: only reports. */
      readonly fix?: "ask" | "unasked";
    } & SettingsArgs)
  | ({ readonly command: "bench" } & BenchArgs & SettingsArgs)
  | ({ readonly command: "tune"; readonly profile: TuneProfile; readonly json: boolean } & SettingsArgs)
  | ({
      readonly command: "convert";
      /** A folder, or a repository of the hub. */
      readonly source: string;
      readonly type: string;
      readonly output?: string | undefined;
      readonly python: string;
      readonly installsTorch: boolean;
    } & SettingsArgs)
  | ({
      readonly command: "update";
      /** Looks for newer revisions of downloads instead. */
      readonly models: boolean;
      readonly check: boolean;
      readonly downgrade: boolean;
      readonly restart: boolean;
      readonly release?: string;
    } & SettingsArgs)
  /** Flags hold the model too. */
  | ({
      readonly command: "pull";
      readonly projector: string;
      readonly draft: string;
      readonly url?: string;
      /** The neural voice, instead of a model. */
      readonly voice?: { readonly id: string; readonly from?: string; readonly index?: string };
    } & SettingsArgs)
  | ({ readonly command: "search"; readonly query: HubQuery; readonly json: boolean } & SettingsArgs)
  | ({
      readonly command: "estimate";
      readonly model: string;
      readonly output: "table" | "json" | "toml";
    } & SettingsArgs)
  | ({ readonly command: "verify"; readonly model: string } & SettingsArgs)
  | ({ readonly command: "cache-list" } & SettingsArgs)
  | ({ readonly command: "cache-purge" } & SettingsArgs)
  | ({ readonly command: "cache-delete"; readonly id: string } & SettingsArgs)
  | ({ readonly command: "backend" } & BackendCommand)
  | ({ readonly command: "rpc-worker" } & RpcWorkerCommand)
  | { readonly command: "login" }
  | (UsageCommand & SettingsArgs)
  | ({ readonly command: "keys" } & KeysCommand & SettingsArgs)
  | ({ readonly command: "mcp"; readonly action: "login" | "logout"; readonly server: string } & SettingsArgs)
  /** Talks to a running server. */
  | (ServerCommand & SettingsArgs)
  | (LaunchCommand & SettingsArgs)
  | ({ readonly command: "replay"; readonly file: string; readonly output?: string } & SettingsArgs)
  /** Flags hold the model too. */
  | ({
      readonly command: "quantize";
      readonly type: string;
      /** Of single tensors: `pattern=TYPE`. */
      readonly tensorTypes: readonly string[];
      /** A text to calibrate with. */
      readonly calibrate?: string;
      readonly output?: string;
    } & SettingsArgs)
  /** Hidden: the engine process, which parses its own arguments. */
  | { readonly command: "engine"; readonly args: readonly string[] }
  /** Hidden: the conversion of an adapter, the quantization of a model. */
  | {
      readonly command: "convert-adapter" | "quantize-worker" | "machine-speed" | "rpc-devices";
      readonly args: readonly string[];
    }
  /** --help and --version: print on stdout, exit 0. */
  | { readonly command: "print"; readonly text: string }
  /** Print on stderr, exit 2. */
  | { readonly command: "usage-error"; readonly text: string };

/** Receives the parsed command. */
export type Choose = (invocation: Invocation) => void;

/** The configuration file, if one is named. */
export function configFile(file: string | undefined): { readonly configFile?: string } {
  return defined({ configFile: file });
}
