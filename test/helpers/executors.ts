// Executors that note what they are asked and answer as they are told.

import type {
  ProducedFile,
  PythonCall,
  PythonResult,
  PythonSessions,
  ShellCall,
  ShellResult,
  ShellSessions,
  SurfaceCall,
} from "../../src/exec/types.ts";
import type { EffectiveProtection } from "../../src/sandbox/types.ts";

export const CONFINED: EffectiveProtection = {
  mechanism: "launcher",
  reachesMachine: false,
  filesystem: "workdir",
  network: "none",
  warnings: [],
};

const PYTHON_RESULT: PythonResult = {
  status: "success",
  workingDirectory: "/work",
  executionMs: 3,
  stdout: "",
  stderr: "",
  images: [],
  videoFrames: [],
  files: [],
};

/** A text file that a call left behind. */
export function textFile(name: string, text: string): ProducedFile {
  const format = name.split(".").at(-1) ?? "";
  return {
    name,
    format,
    mimeType: "text/plain",
    content: new TextEncoder().encode(text),
    isText: true,
  };
}

/** A file that was asked for and is not there. */
export function missingFile(name: string): ProducedFile {
  return { name, format: "", error: { code: "not_produced", message: "not produced" } };
}

export function fakePython(
  answer: Partial<PythonResult> = {},
  facts: Partial<PythonSessions["facts"]> = {},
): PythonSessions & { readonly asked: PythonCall[]; readonly resets: string[] } {
  const asked: PythonCall[] = [];
  const resets: string[] = [];
  return {
    asked,
    resets,
    run: async (call) => {
      asked.push(call);
      return { ...PYTHON_RESULT, ...answer };
    },
    reset: async ({ sessionId }) => void resets.push(sessionId),
    dispose: async () => {},
    close: async () => {},
    facts: { version: "Python 3.12.1", timeoutSecs: 60, packages: ["numpy==2.1.0"], ...facts },
  };
}

export function fakeShell(
  answer: Partial<ShellResult> = {},
): ShellSessions & { readonly asked: (ShellCall | SurfaceCall)[] } {
  const asked: (ShellCall | SurfaceCall)[] = [];
  return {
    asked,
    run: async (call) => {
      asked.push(call);
      return {
        status: "success",
        commands: call.commands,
        workingDirectory: "/work",
        stdout: "",
        stderr: "",
        exitCode: 0,
        timedOut: false,
        executionMs: 2,
        files: [],
        ...answer,
      };
    },
    surface: async (call) => {
      asked.push(call);
      const files = answer.files ?? [];
      const isWhole = files.every((file) => !("error" in file));
      return { status: isWhole ? "success" : "error", workingDirectory: "/work", files };
    },
    dispose: async () => {},
    close: async () => {},
    facts: { timeoutSecs: 600, shell: "/bin/bash" },
  };
}
