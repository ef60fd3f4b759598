// Interface between agent loop and the Python and shell executors: calls and results.

/** A file that the call should produce: a path relative to the working directory. */
export interface OutputFile {
  readonly name: string;
  /** Extension without a dot; default: of the name. */
  readonly format?: string;
}

/** A stored file that appears in the working directory as mountedNames() of its name. */
export interface InputFile {
  readonly id: string;
  readonly name: string;
  readonly body: Blob;
}

/** A skill that appears as skills/NAME. */
export interface MountedSkill {
  readonly name: string;
  /** Folder of the skill's files on this machine. */
  readonly dir: string;
}

/** Common fields of calls. */
interface Call {
  readonly sessionId: string;
  /** Who calls: a key, else an address. */
  readonly client: string;
  /** No request has named the session. */
  readonly isBrief?: boolean;
  /** Files that earlier calls of the session produced, for a folder that is new. */
  readonly earlier?: () => readonly InputFile[];
  /** Files to report, produced or not. */
  readonly outputs: readonly OutputFile[];
  readonly inputs: readonly InputFile[];
}

export interface PythonCall extends Call {
  readonly code: string;
}

export interface ShellCall extends Call {
  /** Lines of one script. */
  readonly commands: readonly string[];
  /** Milliseconds; clamped to the server's own timeout, which is the default. */
  readonly timeoutMs?: number;
  /** Characters of stdout and of stderr each. Default: limits.ts, SHELL_OUTPUT_CHARS. */
  readonly maxOutputLength?: number;
  readonly skills: readonly MountedSkill[];
}

export type SurfaceCall = Call & Pick<ShellCall, "skills">;

/** Reason why a file is missing. */
export type FileFault = "not_produced" | "read_failed" | "too_large" | "invalid_path";

/** A produced file, or the reason why a requested one is missing. */
export type ProducedFile = {
  /** Relative to the working directory, with `/`. */
  readonly name: string;
  /** Lower case, without a dot; "" where request and name lack it. */
  readonly format: string;
} & (
  | {
      readonly mimeType: string;
      readonly content: Uint8Array;
      /** The format is a text format and the content is valid UTF-8. */
      readonly isText: boolean;
    }
  | { readonly error: { readonly code: FileFault; readonly message: string } }
);

/** What a call found that was not there before. */
export interface Renewal {
  /** Names of earlier files that were put into the new folder; absent where the folder is not new. */
  readonly restored?: readonly string[];
}

/** What a call left behind beside the files that are reported. */
export interface LeftOut {
  /** New and changed files above the limit. */
  readonly filesLeftOut?: number;
  /** New folders of other programs, whose files are not reported. */
  readonly folders?: readonly string[];
}

export interface PythonResult extends LeftOut {
  readonly status: "success" | "error" | "timeout";
  /** Set where the session's interpreter is new, and its folder unless that is shared. */
  readonly renewal?: Renewal;
  /** Absolute. */
  readonly workingDirectory: string;
  readonly executionMs: number;
  /** At most limits.ts, PYTHON_OUTPUT_BYTES_MAX, each. */
  readonly stdout: string;
  readonly stderr: string;
  /** Traceback, or the reason for a missing answer: the interpreter exited, the call was cancelled. */
  readonly exception?: string;
  /** Value of a last expression that is not None. */
  readonly result?: { readonly repr: string; readonly type: string };
  /** PNG, base64. */
  readonly images: readonly string[];
  /** Frames of saved animations, PNG, base64. */
  readonly videoFrames: readonly string[];
  readonly files: readonly ProducedFile[];
  /** For status `timeout`: interrupted keeps the interpreter's state, killed loses it. */
  readonly timeout?: { readonly secs: number; readonly interrupted: boolean; readonly killed: boolean };
}

export interface ShellResult extends LeftOut {
  readonly status: "success" | "error" | "timeout";
  /** Set where the session's folder is new. */
  readonly renewal?: Renewal;
  readonly commands: readonly string[];
  readonly workingDirectory: string;
  /** Output so far, also after a timeout. */
  readonly stdout: string;
  readonly stderr: string;
  /** Null after a signal or a timeout. */
  readonly exitCode: number | null;
  readonly timedOut: boolean;
  readonly executionMs: number;
  readonly files: readonly ProducedFile[];
}

export interface SurfaceResult {
  /** `error` where any file is missing. */
  readonly status: "success" | "error";
  readonly workingDirectory: string;
  readonly files: readonly ProducedFile[];
}

/**
 * Python: one interpreter for each session, which keeps its state between calls; one call of a session at a time. An aborted
 * signal interrupts the call as its timeout does.
 */
export interface PythonSessions {
  run(call: PythonCall, signal: AbortSignal): Promise<PythonResult>;
  /** Forgets variables and imports; the process and its files stay. */
  reset(session: Pick<Call, "sessionId" | "client">): Promise<void>;
  /** Ends the interpreter and deletes its files. */
  dispose(sessionId: string): Promise<void>;
  close(): Promise<void>;
  /** Facts for the tool's description. */
  readonly facts: PythonFacts;
}

export interface PythonFacts {
  /** `Python 3.12.1` */
  readonly version: string;
  readonly timeoutSecs: number;
  /** `name==version`; undefined where the interpreter has no pip. */
  readonly packages?: readonly string[];
}

/** Shell: one process for each call; files and background processes stay between calls. */
export interface ShellSessions {
  /** Throws ServiceError for a call without commands. */
  run(call: ShellCall, signal: AbortSignal): Promise<ShellResult>;
  /** Reports files of earlier calls without running a command. */
  surface(call: SurfaceCall): Promise<SurfaceResult>;
  dispose(sessionId: string): Promise<void>;
  close(): Promise<void>;
  readonly facts: ShellFacts;
}

/** Facts for the tool's description. */
export interface ShellFacts {
  readonly timeoutSecs: number;
  /** Absolute path. */
  readonly shell: string;
}
