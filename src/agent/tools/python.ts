// Tools that run Python in a session's interpreter.

import { Type } from "@sinclair/typebox";
import type { ToolProgress } from "../../core/agent.ts";
import { defined } from "../../core/defined.ts";
import { PACKAGES_LISTED_MAX } from "../limits.ts";
import { shorten } from "../../core/shorten.ts";
import type { PythonFacts, PythonResult, PythonSessions } from "../../exec/types.ts";
import type { EffectiveProtection } from "../../sandbox/types.ts";
import type { ServerTool, ToolRequest, ToolOutcome, Toolset } from "../tool.ts";
import {
  builtIn,
  isBrief,
  leftOutOf,
  NO_ARGUMENTS,
  Outputs,
  outputsOf,
  placeOf,
  renewalNote,
  requiredFiles,
  textCharsMax,
} from "./built-in.ts";
import { confinementNote, reachOf } from "./confinement.ts";

/** Tools for requests with code execution. */
export function pythonToolset(python: PythonSessions, protection: EffectiveProtection): Toolset {
  return (request) => {
    if (!request.agent.python) return { tools: [] };
    const execute = executeTool(python, protection, request);
    return { tools: isBrief(request) ? [execute] : [execute, resetTool(python)] };
  };
}

const ACTION = { kind: "code_execution", label: "Python code" } as const;

const Code = Type.Object(
  { code: Type.String({ description: "Python source code." }), outputs: Type.Optional(Outputs) },
  { additionalProperties: false },
);

/** Small models fill optional arguments with nonsense, so the short form has none. */
const BriefCode = Type.Object({ code: Code.properties.code }, { additionalProperties: false });

function executeTool(
  python: PythonSessions,
  protection: EffectiveProtection,
  request: ToolRequest,
): ServerTool {
  const description = isBrief(request)
    ? "Run Python code and return its output."
    : fullDescription(python.facts, protection, request);
  return builtIn({
    name: "svc_execute_python",
    description: description + requiredFiles(request),
    // Arguments of the short form are valid for the full one.
    parameters: (isBrief(request) ? BriefCode : Code) as typeof Code,
    action: { ...ACTION, reach: reachOf(protection) },
    makesFiles: true,
    calling: (args) => ({ tool_type: "code_execution", ...defined({ code: args?.code }) }),
    run: async ({ code, outputs }, context, signal) => {
      const call = { ...placeOf(context), code, outputs: outputsOf(outputs, context.required) };
      const result = await python.run(call, signal);
      return outcome(result, request, renewalNote("interpreter", context, result.renewal));
    },
  });
}

function resetTool(python: PythonSessions): ServerTool {
  const text = JSON.stringify({ status: "success", message: "Variables and imports are cleared." });
  return builtIn({
    name: "svc_reset_python_session",
    description:
      "Clears all variables and imports of the Python session. Files in the working directory are kept.",
    parameters: NO_ARGUMENTS,
    action: { ...ACTION, reach: { files: "none", network: "none" } },
    calling: () => ({ tool_type: "code_execution" }),
    run: async (_args, { sessionId, client }) => {
      await python.reset({ sessionId, client });
      return { text, data: { tool_type: "code_execution" } };
    },
  });
}

function fullDescription(
  { version, timeoutSecs, packages }: PythonFacts,
  protection: EffectiveProtection,
  request: ToolRequest,
): string {
  return [
    `Runs Python code (${version}) and returns its output.`,
    "State persists: variables, imports and open files of one call are available in later calls of this conversation.",
    "Send plain Python source: no Markdown fence, no LaTeX.",
    "The value of a last expression is returned like print output; a pandas DataFrame or Series as its repr.",
    "The user does not see stdout: repeat in your answer what matters.",
    "os.getcwd() is the working directory. Where you mention a file in code output, give its full path.",
    "Matplotlib figures and PIL images are captured automatically when they are shown, saved, left open or the last expression. " +
      seenNote(request),
    'Save an animation with animation.save(name, writer="pillow"), one in a call; its frames are captured.',
    `A call may take ${timeoutSecs} seconds; split longer work over several calls.`,
    "input() and anything else that reads stdin fails. pip is disabled.",
    confinementNote(protection),
    "Every file that a call makes or changes in the working directory is given to the user automatically. Name a file in outputs when it must be there: one that is missing is reported as an error.",
    "Of a text file you are shown the first 1024 bytes; svc_read_file gives more by the file's id, and svc_list_files lists ids.",
    "The result is JSON: stdout, stderr, exception (a traceback), result and result_type (of the last expression), images_generated, video_frames_generated, each only if there is any; and status (success, error, timeout), execution_time_ms, working_directory.",
    packagesNote(packages, request),
  ].join("\n");
}

function seenNote({ modalities }: ToolRequest): string {
  return modalities.includes("image")
    ? "The user sees them, and you are shown them with the result."
    : "The user sees them; you cannot see images.";
}

/** Context tokens per listed package: 8192 tokens list 81 packages, which take about a twentieth of the context. */
const CONTEXT_TOKENS_PER_PACKAGE = 100;

function packagesNote(packages: PythonFacts["packages"], { contextTokens = Infinity }: ToolRequest): string {
  if (packages === undefined) return "The installed packages are unknown; try an import.";
  const listed = packages.slice(0, Math.min(PACKAGES_LISTED_MAX, contextTokens / CONTEXT_TOKENS_PER_PACKAGE));
  const rest = packages.length - listed.length;
  const list = listed.length === 0 ? "none besides the standard library" : listed.join(", ");
  return `Installed packages: ${list}${rest === 0 ? "." : `, and ${rest} more.`}`;
}

function outcome(result: PythonResult, request: ToolRequest, note: string | undefined): ToolOutcome {
  const { images, files } = result;
  const media = images.map((data) => ({ type: "image", data }) as const);
  const { notes } = leftOutOf(result);
  return { text: modelText(result, request, note), data: progress(result), images, media, files, notes };
}

/** Result for the model, output first: the model needs it most. */
function modelText(result: PythonResult, request: ToolRequest, note: string | undefined): string {
  const charsMax = textCharsMax(request);
  const { status, executionMs, workingDirectory, stdout, stderr, exception, images, videoFrames, timeout } =
    result;
  const value = result.result;
  return JSON.stringify({
    ...defined({ note }),
    ...(stdout === "" ? {} : { stdout: shorten(stdout, charsMax) }),
    ...(stderr === "" ? {} : { stderr: shorten(stderr, charsMax) }),
    ...(exception === undefined ? {} : { exception: shorten(exception, charsMax) }),
    ...(value === undefined ? {} : { result: shorten(value.repr, charsMax), result_type: value.type }),
    ...(isBrief(request)
      ? status === "success"
        ? {}
        : { status }
      : { status, execution_time_ms: executionMs, working_directory: workingDirectory }),
    ...(images.length === 0 ? {} : { images_generated: images.length }),
    ...(videoFrames.length === 0 ? {} : { video_frames_generated: videoFrames.length }),
    ...(timeout === undefined
      ? {}
      : {
          timeout_info: {
            timeout_secs: timeout.secs,
            interrupted: timeout.interrupted,
            killed: timeout.killed,
          },
        }),
  });
}

function progress(result: PythonResult): ToolProgress {
  const { stdout, stderr, images, videoFrames, workingDirectory, executionMs } = result;
  const exception = result.exception ?? timeoutMessage(result.timeout);
  const value = result.result;
  return {
    tool_type: "code_execution",
    ...(stdout === "" ? {} : { stdout }),
    ...(stderr === "" ? {} : { stderr }),
    ...defined({ exception }),
    ...(value === undefined ? {} : { result: value.repr, result_type: value.type }),
    ...(images.length === 0 ? {} : { images_base64: images }),
    ...(videoFrames.length === 0
      ? {}
      : { video_frames_base64: videoFrames, video_frame_count: videoFrames.length }),
    working_directory: workingDirectory,
    execution_time_ms: executionMs,
    ...leftOutOf(result).fields,
  };
}

function timeoutMessage(timeout: PythonResult["timeout"]): string | undefined {
  if (timeout === undefined) return undefined;
  const what = timeout.killed ? "the interpreter was killed and its state is lost" : "it was interrupted";
  return `The code did not finish within ${timeout.secs} seconds; ${what}.`;
}
