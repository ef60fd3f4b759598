// Tools for a session's shell directory: run commands, and hand out files of earlier calls.

import { basename } from "node:path";
import { Type } from "@sinclair/typebox";
import type { SkillReference } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { shorten } from "../../core/shorten.ts";
import type {
  MountedSkill,
  ProducedFile,
  ShellFacts,
  ShellResult,
  ShellSessions,
  SurfaceResult,
} from "../../exec/types.ts";
import type { EffectiveProtection } from "../../sandbox/types.ts";
import type { CallContext, ServerTool, ToolRequest, ToolOutcome, Toolset } from "../tool.ts";
import {
  builtIn,
  isBrief,
  leftOutOf,
  Outputs,
  outputsOf,
  placeOf,
  renewalNote,
  requiredFiles,
  textCharsMax,
} from "./built-in.ts";
import { confinementNote, reachOf } from "./confinement.ts";

/** Skills that a request names, and their system text. */
export interface ResolvedSkills {
  readonly skills: readonly MountedSkill[];
  /** Absent without skills. */
  readonly systemText?: string;
}

export interface ShellToolsetDeps {
  readonly shell: ShellSessions;
  readonly protection: EffectiveProtection;
  /** Throws ServiceError for an unknown skill. */
  readonly resolveSkills: (references: readonly SkillReference[]) => ResolvedSkills;
}

/** Tools for requests with the shell. */
export function shellToolset({ shell, protection, resolveSkills }: ShellToolsetDeps): Toolset {
  return (request) => {
    if (request.agent.shell === undefined) return { tools: [] };
    const { skills, systemText } = resolveSkills(request.agent.shell.skills);
    const kit: Kit = { shell, protection, skills, request };
    return {
      tools: isBrief(request) ? [briefShellTool(kit)] : [shellTool(kit), surfaceTool(kit)],
      ...defined({ systemText }),
    };
  };
}

interface Kit extends Omit<ShellToolsetDeps, "resolveSkills"> {
  readonly skills: readonly MountedSkill[];
  readonly request: ToolRequest;
}

const FOLDER = { makesFiles: true, folderOf: ["svc_shell", "svc_surface_outputs"] } as const;

const SHELL = { name: "svc_shell", ...FOLDER } as const;

const Commands = Type.Object(
  {
    commands: Type.Array(Type.String(), { minItems: 1, description: "Lines of one script." }),
    outputs: Type.Optional(Outputs),
    timeout_ms: Type.Optional(Type.Integer({ minimum: 1 })),
    max_output_length: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);

function shellTool({ shell, protection, skills, request }: Kit): ServerTool {
  return builtIn({
    ...SHELL,
    action: { kind: "shell", label: "Shell command", reach: reachOf(protection) },
    description: shellDescription(shell.facts, protection) + requiredFiles(request),
    parameters: Commands,
    calling: (args) => ({ tool_type: "shell", ...defined({ commands: args?.commands }) }),
    run: async (args, context, signal) => {
      const { commands, outputs, timeout_ms: timeoutMs, max_output_length: maxOutputLength } = args;
      const call = {
        ...placeOf(context),
        commands,
        outputs: outputsOf(outputs, context.required),
        skills,
        ...defined({ timeoutMs, maxOutputLength }),
      };
      return shellOutcome(await shell.run(call, signal), request, context);
    },
  });
}

const Command = Type.Object(
  { command: Type.String({ description: "The shell command to run" }) },
  { additionalProperties: false },
);

/** Short form with one argument: small models fill lists and optional arguments with nonsense. */
function briefShellTool({ shell, protection, skills, request }: Kit): ServerTool {
  return builtIn({
    ...SHELL,
    action: { kind: "shell", label: "Shell command", reach: reachOf(protection) },
    description: `Run a ${basename(shell.facts.shell)} command and return its output.${requiredFiles(request)}`,
    parameters: Command,
    calling: (args) => ({ tool_type: "shell", ...(args === undefined ? {} : { commands: [args.command] }) }),
    run: async ({ command }, context, signal) => {
      const call = {
        ...placeOf(context),
        commands: [command],
        outputs: outputsOf(undefined, context.required),
        skills,
      };
      return shellOutcome(await shell.run(call, signal), request, context);
    },
  });
}

function shellDescription({ timeoutSecs, shell }: ShellFacts, protection: EffectiveProtection): string {
  return [
    `Runs shell commands with ${shell} and returns their output.`,
    "All lines of one call run as one script in a fresh process: cd, variables and exports end with the call. Files stay in the working directory of this conversation.",
    "Skills, if the conversation has any, are in skills/NAME. Read skills/NAME/SKILL.md before you use one.",
    "A command that ends with & continues in the background, also during later calls of this conversation; redirect its output to a file to read it later.",
    `A call may take ${timeoutSecs} seconds; timeout_ms lowers that. stdin is empty, so commands must not read input.`,
    "stdout and stderr are limited to 4096 characters each, of longer output the beginning and the end; max_output_length changes the limit.",
    confinementNote(protection),
    "Every file that a call makes or changes in the working directory is given to the user automatically. outputs is an argument of this tool, not text for the shell: name a file there when it must be present. For files of earlier calls use svc_surface_outputs.",
    "The result is JSON: stdout, stderr, exit_code, status (success, error, timeout), working_directory, timed_out.",
  ].join("\n");
}

function shellOutcome(result: ShellResult, request: ToolRequest, context: CallContext): ToolOutcome {
  const note = renewalNote("folder", context, result.renewal);
  const charsMax = textCharsMax(request);
  const { stdout, stderr, exitCode, status, commands, workingDirectory, timedOut, files } = result;
  const fields = {
    exit_code: exitCode,
    status,
    working_directory: workingDirectory,
    timed_out: timedOut,
  };
  const leftOut = leftOutOf(result);
  const out = shorten(stdout, charsMax);
  const err = shorten(stderr, charsMax);
  return {
    text: JSON.stringify({
      ...defined({ note }),
      ...(isBrief(request) ? briefResult(out, err, exitCode) : { stdout: out, stderr: err, ...fields }),
    }),
    data: {
      tool_type: "shell",
      ...(stdout === "" ? {} : { stdout }),
      ...(stderr === "" ? {} : { stderr }),
      commands,
      ...fields,
      ...leftOut.fields,
    },
    notes: leftOut.notes,
    files,
  };
}

/** Short result: an empty object for a successful call without output. */
function briefResult(stdout: string, stderr: string, exitCode: number | null): object {
  return {
    ...(stdout === "" ? {} : { stdout }),
    ...(stderr === "" ? {} : { stderr }),
    ...(exitCode === 0 ? {} : { exit_code: exitCode }),
  };
}

const Surfaced = Type.Object(
  { outputs: Type.Array(Outputs.items, { minItems: 1, description: Outputs.description ?? "" }) },
  { additionalProperties: false },
);

function surfaceTool({ shell, skills, request }: Kit): ServerTool {
  return builtIn({
    name: "svc_surface_outputs",
    description:
      [
        "Gives files that are already in the shell's working directory to the user. It runs and creates nothing.",
        "Use it for files of earlier calls, before your final answer. Names are paths relative to the working directory.",
      ].join("\n") + requiredFiles(request),
    parameters: Surfaced,
    action: {
      kind: "file",
      label: "File outputs",
      reach: { files: "files of this conversation", network: "none" },
    },
    ...FOLDER,
    calling: (_args, text) => ({ tool_type: "custom", arguments: text }),
    run: async (args, context) => {
      const outputs = outputsOf(args.outputs, context.required);
      const result = await shell.surface({ ...placeOf(context), outputs, skills });
      const text = surfaceText(result);
      const data = { tool_type: "custom", arguments: JSON.stringify(args), content: text } as const;
      return { text, data, files: result.files };
    },
  });
}

function surfaceText({ status, workingDirectory, files }: SurfaceResult): string {
  return JSON.stringify({ status, working_directory: workingDirectory, files: files.map(surfacedFile) });
}

function surfacedFile(file: ProducedFile) {
  const { name, format } = file;
  return "error" in file
    ? { name, format, bytes: 0, status: "error", error: file.error.message }
    : { name, format, bytes: file.content.byteLength, status: "success" };
}
