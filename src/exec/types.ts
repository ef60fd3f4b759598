// What the agent asks of the Python and shell executors and what it gets back. All they share with the agent loop.

/** A file that the call is to leave behind: a path relative to the working directory. */
export interface OutputFile {
  readonly name: string;
  /** As a file name's extension; taken from the name where absent. */
  readonly format?: string;
}

/** A stored file that the code finds in its working directory, under mountedNames() of its name. */
export interface InputFile {
  readonly id: string;
  readonly name: string;
  readonly body: Blob;
}

/** A skill that a shell call finds as skills/NAME. */
export interface MountedSkill {
  readonly name: string;
  /** Folder of the skill's files on this machine. */
  readonly dir: string;
}

/** What every call on a session carries. */
interface Call {
  readonly sessionId: string;
  /** Files that must be reported, made or not. */
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

/** Why there is no such file. */
export type FileFault = "not_produced" | "read_failed" | "too_large" | "invalid_path";

/** A file that a call has left behind, or the reason why a file that was asked for is not there. */
export type ProducedFile = {
  /** Relative to the working directory, with `/`. */
  readonly name: string;
  /** Lower case, without a dot; "" where neither the request nor the name says it. */
  readonly format: string;
} & (
  | {
      readonly mimeType: string;
      readonly content: Uint8Array;
      /** The format is one of text and the content is valid UTF-8. */
      readonly isText: boolean;
    }
  | { readonly error: { readonly code: FileFault; readonly message: string } }
);

export interface PythonResult {
  readonly status: "success" | "error" | "timeout";
  /** Absolute. */
  readonly workingDirectory: string;
  readonly executionMs: number;
  /** At most limits.ts, PYTHON_OUTPUT_BYTES_MAX, each. */
  readonly stdout: string;
  readonly stderr: string;
  /** A traceback, or why there is no answer: the interpreter has ended, the call was cancelled. */
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

export interface ShellResult {
  readonly status: "success" | "error" | "timeout";
  readonly commands: readonly string[];
  readonly workingDirectory: string;
  /** What there was, on timeout too. */
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
 * Python with one interpreter for each session, whose state lasts from call to call; one call of a session at a time.
 * A signal that aborts interrupts the call as its timeout would.
 */
export interface PythonSessions {
  run(call: PythonCall, signal: AbortSignal): Promise<PythonResult>;
  /** Forgets variables and imports; the process and its files stay. */
  reset(sessionId: string): Promise<void>;
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

/** A shell process for each call; files last from call to call. */
export interface ShellSessions {
  /** Throws ServiceError for a call without commands. */
  run(call: ShellCall, signal: AbortSignal): Promise<ShellResult>;
  /** Reports files of earlier calls; runs nothing. */
  surface(call: SurfaceCall): Promise<SurfaceResult>;
  dispose(sessionId: string): Promise<void>;
  close(): Promise<void>;
  readonly facts: { readonly timeoutSecs: number };
}
