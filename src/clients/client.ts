// A program that uses models of a server, and what connects it: a part of its configuration file, environment, arguments.

/** The server and the model, as a configuration names them. */
export interface Target {
  /** `http://localhost:1234` */
  readonly root: string;
  /** `default`, or a name that the server accepts. */
  readonly model: string;
  /** `none` for a server without keys. */
  readonly key: string;
  /** Most tokens of a prompt with its answer. */
  readonly context: number;
  /** Whether the model takes images. */
  readonly images: boolean;
}

/** A member of a configuration file. */
export interface Entry {
  /** Names from the top of the file to it; of an item of a list, to the list. */
  readonly path: readonly string[];
  readonly value: unknown;
  /** It is an item of a list: the one whose `name` is that of its value. */
  readonly isItem?: boolean;
  /** Belongs to the file's form: it is written into a new file, and is no reason to keep one. */
  readonly isForm?: boolean;
}

export interface ClientFile {
  readonly format: "json" | "yaml" | "toml";
  readonly folder: {
    /** What `path` begins at: the home folder, or that of configurations in it (XDG). */
    readonly base: "home" | "config";
    readonly path: string;
    /** A variable that names the folder itself. */
    readonly variable?: string;
  };
  /** Its name; the first that exists of several. */
  readonly names: readonly [string, ...string[]];
  readonly entries: readonly Entry[];
}

/** What connects a client with a server. */
export interface Connection {
  readonly file?: ClientFile;
  readonly variables: Readonly<Record<string, string>>;
  readonly args: readonly string[];
}

export interface Client {
  readonly id: string;
  readonly name: string;
  /** Its executables; the first that is found is started. */
  readonly programs: readonly [string, ...string[]];
  /** How it is installed. */
  readonly install: string;
  /** The API that it speaks. */
  readonly speaks: "Messages" | "Responses" | "chat completions";
  readonly needs: {
    /** Tokens of context with which it is of use: its own prompt, some files and an answer. */
    readonly context: number;
    readonly tools: boolean;
    /** It sends what servers refuse without `compat = clients`. */
    readonly compat: boolean;
  };
  readonly connect: (target: Target) => Connection;
  /** What else to know, sentences. */
  readonly notes: readonly string[];
}

/** The server's address for an API whose paths begin with `/v1`. */
export function baseUrl({ root }: Target): string {
  return `${root}/v1`;
}

/** Most tokens of an answer: what is left of the context belongs to the prompt. */
export function answerTokens({ context }: Target): number {
  return Math.floor(context / 8);
}

/** Where a file is, for people. */
export function shownPath({ folder, names }: ClientFile): string {
  return ["~", ...(folder.base === "config" ? [".config"] : []), folder.path, names[0]].join("/");
}
