// The tools that work in a session's shell folder: commands, and files of earlier calls.

import { Type } from "@sinclair/typebox";
import type { SkillReference } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { shorten } from "../../core/shorten.ts";
import type {
  MountedSkill,
  ProducedFile,
  ShellResult,
  ShellSessions,
  SurfaceResult,
} from "../../exec/types.ts";
import type { EffectiveProtection } from "../../sandbox/types.ts";
import type { ServerTool, ToolAsk, ToolOutcome, Toolset } from "../tool.ts";
import { builtIn, isBrief, Outputs, outputsOf, requiredFiles, textCharsMax } from "./built-in.ts";
import { confinementNote } from "./confinement.ts";

/** Skills that a request names, and what the model is told of them. */
export interface ResolvedSkills {
  readonly skills: readonly MountedSkill[];
  /** Absent where there are none. */
  readonly systemText?: string;
}

export interface ShellToolsetDeps {
  readonly shell: ShellSessions;
  readonly protection: EffectiveProtection;
  /** Throws ServiceError for a skill that is not there. */
  readonly resolveSkills: (references: readonly SkillReference[]) => ResolvedSkills;
}

/** The shell for requests that ask for it. */
export function shellToolset({ shell, protection, resolveSkills }: ShellToolsetDeps): Toolset {
  return (ask) => {
    if (ask.agent.shell === undefined) return { tools: [] };
    const { skills, systemText } = resolveSkills(ask.agent.shell.skills);
    const kit: Kit = { shell, protection, skills, ask };
    return {
      tools: isBrief(ask) ? [briefShellTool(kit)] : [shellTool(kit), surfaceTool(kit)],
      ...defined({ systemText }),
    };
  };
}

interface Kit extends Omit<ShellToolsetDeps, "resolveSkills"> {
  readonly skills: readonly MountedSkill[];
  readonly ask: ToolAsk;
}

const SHELL = {
  name: "svc_shell",
  action: { kind: "shell", label: "Shell command" },
  makesFiles: true,
} as const;

const Commands = Type.Object(
  {
    commands: Type.Array(Type.String(), { minItems: 1, description: "Lines of one script." }),
    outputs: Type.Optional(Outputs),
    timeout_ms: Type.Optional(Type.Integer({ minimum: 1 })),
    max_output_length: Type.Optional(Type.Integer({ minimum: 1 })),
  },
  { additionalProperties: false },
);

function shellTool({ shell, protection, skills, ask }: Kit): ServerTool {
  return builtIn({
    ...SHELL,
    description: shellDescription(shell.facts.timeoutSecs, protection) + requiredFiles(ask),
    parameters: Commands,
    calling: (args) => ({ tool_type: "shell", ...defined({ commands: args?.commands }) }),
    run: async (args, { sessionId, inputs, required }, signal) => {
      const { commands, outputs, timeout_ms: timeoutMs, max_output_length: maxOutputLength } = args;
      const call = {
        sessionId,
        commands,
        outputs: outputsOf(outputs, required),
        inputs,
        skills,
        ...defined({ timeoutMs, maxOutputLength }),
      };
      return shellOutcome(await shell.run(call, signal), ask);
    },
  });
}

const Command = Type.Object(
  { command: Type.String({ description: "The shell command to run" }) },
  { additionalProperties: false },
);

/** The same with one argument: small models fill the others, and lists, with nonsense. */
function briefShellTool({ shell, skills, ask }: Kit): ServerTool {
  return builtIn({
    ...SHELL,
    description: `Run a shell command and return its output.${requiredFiles(ask)}`,
    parameters: Command,
    calling: (args) => ({ tool_type: "shell", ...(args === undefined ? {} : { commands: [args.command] }) }),
    run: async ({ command }, { sessionId, inputs, required }, signal) => {
      const call = {
        sessionId,
        commands: [command],
        outputs: outputsOf(undefined, required),
        inputs,
        skills,
      };
      return shellOutcome(await shell.run(call, signal), ask);
    },
  });
}

function shellDescription(timeoutSecs: number, protection: EffectiveProtection): string {
  return [
    "Runs shell commands and returns their output.",
    "All lines of one call run as one script in a fresh process: cd, variables and exports end with the call. Files stay in the working directory of this conversation.",
    "Skills, where the conversation has any, lie in skills/NAME. Read skills/NAME/SKILL.md before you use one.",
    "A command that ends with & goes on in the background, also during later calls of this conversation; send its output to a file to read it later.",
    `A call may take ${timeoutSecs} seconds; timeout_ms makes that less. stdin is empty, so nothing may ask for input.`,
    "Of stdout and stderr 4096 characters each are returned, the beginning and the end of what is longer; max_output_length changes that.",
    confinementNote(protection),
    "Every file that a call makes or changes in the working directory is given to the user by itself. outputs is an argument of this tool, not text for the shell: name a file there when it must be present. For files of earlier calls use svc_surface_outputs.",
    "The result is JSON: stdout, stderr, exit_code, status (success, error, timeout), commands, working_directory, timed_out.",
  ].join("\n");
}

function shellOutcome(result: ShellResult, ask: ToolAsk): ToolOutcome {
  const charsMax = textCharsMax(ask);
  const { stdout, stderr, exitCode, status, commands, workingDirectory, timedOut, files } = result;
  const fields = {
    exit_code: exitCode,
    status,
    commands,
    working_directory: workingDirectory,
    timed_out: timedOut,
  };
  const out = shorten(stdout, charsMax);
  const err = shorten(stderr, charsMax);
  return {
    text: JSON.stringify(
      isBrief(ask) ? briefResult(out, err, exitCode) : { stdout: out, stderr: err, ...fields },
    ),
    data: {
      tool_type: "shell",
      ...(stdout === "" ? {} : { stdout }),
      ...(stderr === "" ? {} : { stderr }),
      ...fields,
    },
    files,
  };
}

/** What there is to know: a call that went well and said nothing is an empty object. */
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

function surfaceTool({ shell, skills, ask }: Kit): ServerTool {
  return builtIn({
    name: "svc_surface_outputs",
    description:
      [
        "Gives files that are already in the shell's working directory to the user. It runs nothing and makes nothing.",
        "Use it for files of earlier calls, before your final answer. Names are paths relative to the working directory.",
      ].join("\n") + requiredFiles(ask),
    parameters: Surfaced,
    action: { kind: "file", label: "File outputs" },
    makesFiles: true,
    calling: (_args, text) => ({ tool_type: "custom", arguments: text }),
    run: async (args, { sessionId, inputs, required }) => {
      const outputs = outputsOf(args.outputs, required);
      const result = await shell.surface({ sessionId, outputs, inputs, skills });
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
