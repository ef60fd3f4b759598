// Built-in tools over fake executors that record calls: descriptions, arguments, results.

import { describe, expect, test } from "bun:test";
import type { ToolRequest, Toolset } from "../../src/agent/tool.ts";
import { disabledToolset } from "../../src/agent/tools/disabled.ts";
import { fileToolset } from "../../src/agent/tools/files.ts";
import { pythonToolset } from "../../src/agent/tools/python.ts";
import { shellToolset } from "../../src/agent/tools/shell.ts";
import type { AgentRequest, AnswerEvent } from "../../src/core/agent.ts";
import { type ForCaller, SERVER } from "../../src/core/caller.ts";
import { defined } from "../../src/core/defined.ts";
import type { Files } from "../../src/core/files.ts";
import { fileStore } from "../../src/files/store.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import {
  asking,
  calling,
  lastText,
  messagesOf,
  saying,
  scripted,
  testLoop,
  type TestLoopOptions,
} from "../helpers/agent.ts";
import { testStores } from "../helpers/app.ts";
import { CONFINED, fakePython, fakeShell, missingFile, textFile } from "../helpers/executors.ts";
import { user } from "../helpers/talk.ts";

const ask = (agent: Partial<AgentRequest> = {}, extra: Partial<ToolRequest> = {}): ToolRequest => ({
  agent: { python: false, files: [], interactive: true, ...agent },
  model: "tiny",
  caller: SERVER,
  hasInputs: false,
  contextTokens: undefined,
  modalities: [],
  ...extra,
});

const PYTHON = { python: true } as const;
const SHELL = { shell: { skills: [] } } as const;

const shellTools = (shell = fakeShell()) =>
  shellToolset({ shell, protection: CONFINED, resolveSkills: () => ({ skills: [] }) });

const names = (toolset: Toolset, request: ToolRequest) => toolset(request).tools.map(({ spec }) => spec.name);
const described = (toolset: Toolset, request: ToolRequest) =>
  toolset(request).tools[0]?.spec.description ?? "";

/** One call of a tool through the loop: the events, and what the model was told. */
async function once(
  toolset: Toolset,
  [name, args]: readonly [string, unknown],
  agent: Partial<AgentRequest> = {},
  options: Partial<TestLoopOptions> = {},
) {
  const { generate, requests } = scripted(calling([name, args]), saying("ok"));
  const files = fileStore(ownedState(memoryState()));
  const toolsets = [toolset, fileToolset(files)];
  const loop = testLoop({ generate, toolsets, files, ...options });
  const events = await loop.answer(asking({ sessionId: "s", ...agent }));
  const told = lastText(requests[1]);
  const complete = events.find(({ type }) => type === "tool_complete");
  return { events, told, files, complete: complete as Extract<AnswerEvent, { type: "tool_complete" }> };
}

describe("which tools a request is offered", () => {
  const python = pythonToolset(fakePython(), CONFINED);
  const files = fileToolset(fileStore(ownedState(memoryState())));

  test("Python with code execution", () => {
    expect(names(python, ask())).toEqual([]);
    expect(names(python, ask(PYTHON))).toEqual(["svc_execute_python", "svc_reset_python_session"]);
  });

  test("the shell on request", () => {
    expect(names(shellTools(), ask())).toEqual([]);
    expect(names(shellTools(), ask(SHELL))).toEqual(["svc_shell", "svc_surface_outputs"]);
  });

  test("file tools if the request can have files", () => {
    expect(names(files, ask())).toEqual([]);
    expect(names(files, ask({}, { hasInputs: true }))).toEqual([]); // nobody asked for tools
    for (const request of [ask(PYTHON), ask(SHELL), ask({ sessionId: "s" }, { hasInputs: true })]) {
      expect(names(files, request)).toEqual(["svc_read_file", "svc_list_files"]);
    }
  });

  test("a disabled tool is refused by name", () => {
    expect(() => disabledToolset("python")(ask(PYTHON))).toThrow("--enable-code-execution");
    expect(() => disabledToolset("shell")(ask(SHELL))).toThrow("--enable-shell");
    const search = {
      contextSize: "low",
      unlimitedBudget: false,
      allowedDomains: [],
      blockedDomains: [],
    } as const;
    expect(() => disabledToolset("search")(ask({ webSearch: search }))).toThrow("--enable-search");
    for (const kind of ["python", "shell", "search", "files"] as const) {
      expect(disabledToolset(kind)(ask())).toEqual({ tools: [] });
    }
  });

  test("all have strict schemas", () => {
    for (const toolset of [python, shellTools(), files]) {
      for (const { spec } of toolset(ask({ ...PYTHON, ...SHELL })).tools) {
        expect(spec).toMatchObject({
          strict: true,
          parameters: { type: "object", additionalProperties: false },
        });
        expect(JSON.parse(JSON.stringify(spec))).toEqual(spec);
      }
    }
  });
});

describe("tool descriptions", () => {
  test.each([
    ["state persists", "State persists"],
    ["the timeout", "60 seconds"],
    ["packages", "numpy==2.1.0"],
    ["the effective network", "EPERM"],
    ["the effective file system", "only the working directory can be written"],
    ["that stdin fails", "stdin"],
    ["that pip is disabled", "pip is disabled"],
    ["where to read more of a file", "svc_read_file"],
    ["the keys of the result", "video_frames_generated"],
  ])("Python: %s", (_what, words) => {
    expect(described(pythonToolset(fakePython(), CONFINED), ask(PYTHON))).toContain(words);
  });

  test.each([
    ["none", "EPERM"],
    ["loopback", "only addresses of this machine"],
    ["full", "is available"],
    ["open", "is available"],
  ] as const)("network %s", (network, words) => {
    const toolset = pythonToolset(fakePython(), { ...CONFINED, network });
    expect(described(toolset, ask(PYTHON))).toContain(words);
  });

  test("an open file system", () => {
    const toolset = pythonToolset(fakePython(), { ...CONFINED, filesystem: "open" });
    expect(described(toolset, ask(PYTHON))).toContain("outside the working directory can be accessed");
  });

  test("unknown packages, none, and more than the limit", () => {
    const of = (packages: readonly string[] | undefined, contextTokens?: number) => {
      const python = fakePython();
      const { packages: _, ...facts } = python.facts;
      const known = { ...python, facts: packages === undefined ? facts : { ...facts, packages } };
      return described(pythonToolset(known, CONFINED), ask(PYTHON, { contextTokens }));
    };
    expect(of(undefined)).toContain("packages are unknown");
    expect(of([])).toContain("none besides the standard library");
    const many = Array.from({ length: 500 }, (_, index) => `p${index}==1`);
    expect(of(many)).toContain("p199==1, and 300 more.");
    expect(of(many, 8192)).toContain("p80==1, and 419 more.");
  });

  test.each([
    ["the shell", "commands with /bin/bash and"],
    ["the timeout", "600 seconds"],
    ["where skills are", "skills/NAME/SKILL.md"],
    ["that the process ends with the call", "end with the call"],
    ["that outputs is an argument", "not text for the shell"],
    ["the helper for earlier files", "svc_surface_outputs"],
    ["the sandbox", "EPERM"],
  ])("shell: %s", (_what, words) => {
    expect(described(shellTools(), ask(SHELL))).toContain(words);
  });

  test("in a small context: one line, one argument, no optional tools", () => {
    const request = ask({ ...PYTHON, ...SHELL }, { contextTokens: 4096 });
    const files = fileToolset(fileStore(ownedState(memoryState())));
    const toolsets = [pythonToolset(fakePython(), CONFINED), shellTools(), files];
    const specs = toolsets.flatMap((toolset) => toolset(request).tools.map(({ spec }) => spec));
    expect(specs.map(({ name, parameters }) => [name, Object.keys(parameters["properties"] ?? {})])).toEqual([
      ["svc_execute_python", ["code"]],
      ["svc_shell", ["command"]],
    ]);
    for (const { description } of specs) expect(description?.length).toBeLessThan(80);
    expect(names(files, { ...request, hasInputs: true })).toEqual([]);
  });

  test("in a small context, results are short too", async () => {
    const small = { contextTokens: async () => 4096 };
    const python = pythonToolset(fakePython({ stdout: "391\n" }), CONFINED);
    const asked = await once(python, ["svc_execute_python", { code: "1" }], PYTHON, small);
    expect(asked.told).toBe('{"stdout":"391\\n"}');
    const shell = fakeShell({ stdout: "a\n" });
    const ran = await once(shellTools(shell), ["svc_shell", { command: "ls" }], SHELL, small);
    expect(shell.asked).toMatchObject([{ commands: ["ls"], outputs: [], skills: [] }]);
    expect(ran.told).toBe('{"stdout":"a\\n"}');
    expect(ran.complete.data).toMatchObject({ commands: ["ls"], working_directory: "/work" });
  });

  test("required files, in every tool that can produce them", () => {
    const wanted = [
      { name: "a.csv", description: "the table" },
      { name: "b", format: "png" },
    ];
    const request = ask({ ...PYTHON, ...SHELL, files: wanted });
    for (const toolset of [pythonToolset(fakePython(), CONFINED), shellTools()]) {
      for (const { spec, makesFiles } of toolset(request).tools) {
        if (makesFiles === true) expect(spec.description).toEndWith("\n- a.csv: the table\n- b (png)");
        else expect(spec.description).not.toContain("a.csv");
      }
    }
  });
});

describe("Python", () => {
  test("takes code, and returns output first", async () => {
    const python = fakePython({ stdout: "391\n", result: { repr: "5", type: "int" } });
    const { told, complete } = await once(
      pythonToolset(python, CONFINED),
      ["svc_execute_python", { code: "print(17*23)" }],
      PYTHON,
    );
    expect(python.asked).toMatchObject([{ sessionId: "s", code: "print(17*23)", outputs: [], inputs: [] }]);
    expect(told).toBe(
      '{"stdout":"391\\n","result":"5","result_type":"int","status":"success","execution_time_ms":3,"working_directory":"/work"}',
    );
    expect(complete).toMatchObject({
      arguments: '{"code":"print(17*23)"}',
      data: {
        tool_type: "code_execution",
        stdout: "391\n",
        working_directory: "/work",
        execution_time_ms: 3,
      },
      resultContent: "stdout: 391\n\nresult: 5",
    });
    expect(complete.data).toMatchObject({ result: "5", result_type: "int" });
  });

  test("shows the code to the client before it runs", async () => {
    const toolset = pythonToolset(fakePython(), CONFINED);
    const { events } = await once(toolset, ["svc_execute_python", { code: "1" }], PYTHON);
    expect(events.find(({ type }) => type === "tool_calling")).toMatchObject({
      data: { tool_type: "code_execution", code: "1" },
    });
  });

  test("images go to the client, and the model gets a note that it cannot see them", async () => {
    const toolset = pythonToolset(fakePython({ images: ["iVBO", "iVBP"] }), CONFINED);
    const { told, complete } = await once(toolset, ["svc_execute_python", { code: "1" }], PYTHON);
    expect(complete).toMatchObject({ images: ["iVBO", "iVBP"], data: { images_base64: ["iVBO", "iVBP"] } });
    expect(told).toContain('"images_generated":2');
    expect(told).toEndWith("[2 images were produced and shown to the user. You cannot see images.]");
  });

  test("frames of an animation", async () => {
    const toolset = pythonToolset(fakePython({ videoFrames: ["a", "b"] }), CONFINED);
    const { told, complete } = await once(toolset, ["svc_execute_python", { code: "1" }], PYTHON);
    expect(told).toContain('"video_frames_generated":2');
    expect(complete.data).toMatchObject({ video_frames_base64: ["a", "b"], video_frame_count: 2 });
  });

  test("a timeout reports the state of the interpreter", async () => {
    const timeout = { secs: 60, interrupted: false, killed: true };
    const toolset = pythonToolset(fakePython({ status: "timeout", timeout }), CONFINED);
    const { told, complete } = await once(toolset, ["svc_execute_python", { code: "1" }], PYTHON);
    expect(JSON.parse(told)).toMatchObject({
      status: "timeout",
      timeout_info: { timeout_secs: 60, interrupted: false, killed: true },
    });
    expect(complete.data).toMatchObject({ exception: expect.stringContaining("its state is lost") });
  });

  test("output is cut for the model, not for the client", async () => {
    const long = "x".repeat(70_000);
    const toolset = pythonToolset(fakePython({ stdout: long }), CONFINED);
    const { told, complete } = await once(toolset, ["svc_execute_python", { code: "1" }], PYTHON);
    expect(JSON.parse(told).stdout).toMatch(/^x{32744}\n\[… 4512 bytes left out …\]\nx{32744}$/);
    expect(complete.data).toMatchObject({ stdout: long });
  });

  test("reset clears the session's variables", async () => {
    const python = fakePython();
    const { told } = await once(pythonToolset(python, CONFINED), ["svc_reset_python_session", {}], PYTHON);
    expect(python.resets).toEqual(["s"]);
    expect(JSON.parse(told)).toMatchObject({ status: "success" });
  });

  test.each([
    ["{}", "argument code"],
    ['{"code":5}', "argument code"],
    ['{"code":"1","more":2}', "argument more"],
    ["[]", "the arguments"],
    ["{", "not valid JSON"],
  ])("arguments %s are not tried", async (args, words) => {
    const python = fakePython();
    const { told, complete } = await once(
      pythonToolset(python, CONFINED),
      ["svc_execute_python", args],
      PYTHON,
    );
    expect(python.asked).toEqual([]);
    expect(JSON.parse(told)).toEqual({
      error: expect.stringContaining(words),
      tool: "svc_execute_python",
      status: "failed",
    });
    expect(complete.data).toEqual({ tool_type: "code_execution", exception: JSON.parse(told).error });
  });
});

describe("shell", () => {
  test("runs the commands with all arguments", async () => {
    const shell = fakeShell({ stdout: "a.txt\n", stderr: "oh", exitCode: 1, status: "error" });
    const skills = [{ name: "chart", dir: "/skills/chart" }];
    const toolset = shellToolset({ shell, protection: CONFINED, resolveSkills: () => ({ skills }) });
    const args = {
      commands: ["cd x", "ls"],
      timeout_ms: 5000,
      max_output_length: 10,
      outputs: [{ name: "a.txt" }],
    };
    const { told, complete } = await once(toolset, ["svc_shell", args], SHELL);
    expect(shell.asked).toMatchObject([
      {
        sessionId: "s",
        commands: ["cd x", "ls"],
        outputs: [{ name: "a.txt" }],
        inputs: [],
        skills,
        timeoutMs: 5000,
        maxOutputLength: 10,
      },
    ]);
    const result = {
      stdout: "a.txt\n",
      stderr: "oh",
      exit_code: 1,
      status: "error",
      working_directory: "/work",
      timed_out: false,
    };
    expect(JSON.parse(told)).toEqual(result); // the model knows its commands
    expect(complete.data).toEqual({ tool_type: "shell", commands: ["cd x", "ls"], ...result });
    expect(JSON.parse(complete.resultContent)).toEqual({
      stdout: "a.txt\n",
      stderr: "oh",
      exit_code: 1,
      status: "error",
      working_directory: "/work",
      timed_out: false,
    });
  });

  test("denied", async () => {
    const shell = fakeShell();
    const { complete } = await once(shellTools(shell), ["svc_shell", { commands: ["ls"] }], {
      ...SHELL,
      permission: "deny",
    });
    expect(shell.asked).toEqual([]);
    expect(complete.data).toEqual({
      tool_type: "shell",
      commands: ["ls"],
      status: "denied",
      stderr: "Shell command was denied by policy.",
      timed_out: false,
    });
  });

  test("skills are listed in a system message", async () => {
    const { generate, requests } = scripted(saying("ok"));
    const resolveSkills = () => ({ skills: [], systemText: "Read SKILL.md." });
    const toolsets = [shellToolset({ shell: fakeShell(), protection: CONFINED, resolveSkills })];
    const loop = testLoop({ generate, toolsets });
    await loop.answer(asking(SHELL));
    expect(messagesOf(requests[0])[0]).toEqual({
      role: "system",
      content: [{ type: "text", text: "Read SKILL.md." }],
    });
    expect(loop.sessions.saved[0]?.turn).toEqual([
      { role: "assistant", content: [{ type: "text", text: "ok" }] },
    ]);
  });

  test("surfacing reports which files exist", async () => {
    const shell = fakeShell({ files: [textFile("a.txt", "hello"), missingFile("b.txt")] });
    const args = { outputs: [{ name: "a.txt" }, { name: "b.txt" }] };
    const { told, complete } = await once(shellTools(shell), ["svc_surface_outputs", args], SHELL);
    const [json] = told.split("\nFiles:");
    expect(JSON.parse(json ?? "")).toEqual({
      status: "error",
      working_directory: "/work",
      files: [
        { name: "a.txt", format: "txt", bytes: 5, status: "success" },
        { name: "b.txt", format: "", bytes: 0, status: "error", error: "not produced" },
      ],
    });
    expect(complete.data).toEqual({
      tool_type: "custom",
      arguments: JSON.stringify(args),
      content: json ?? "",
    });
  });
});

describe("files that a call produces", () => {
  test("are stored, announced before the call completes, and listed for the model", async () => {
    const python = fakePython({ files: [textFile("out.csv", "a,b\n1,2\n"), missingFile("plot.png")] });
    const { events, told, files, complete } = await once(
      pythonToolset(python, CONFINED),
      ["svc_execute_python", { code: "1", outputs: [{ name: "plot.png" }] }],
      PYTHON,
    );
    const order = events
      .map(({ type }) => type)
      .filter((type) => type.startsWith("tool_") || type.startsWith("file"));
    expect(order).toEqual(["tool_calling", "file_produced", "file_produced", "tool_complete"]);
    const [first, second] = complete.fileIds;
    expect(first).toMatch(/^file_[0-9a-f]{12}_r1_0$/);
    expect(second).toBe(first?.replace(/0$/, "1") ?? "");
    expect(events.flatMap((event) => (event.type === "file_produced" ? [event.file] : []))).toMatchObject([
      {
        id: first ?? "",
        name: "out.csv",
        format: "csv",
        bytes: 8,
        purpose: "agent_output",
        source: { tool: "svc_execute_python", round: 1, turn: 0 },
        text: "a,b\n1,2\n",
      },
      { id: second ?? "", name: "plot.png", bytes: 0, code: "not_produced", message: "not produced" },
    ]);
    expect(
      await files(SERVER)
        .body(first ?? "")
        ?.text(),
    ).toBe("a,b\n1,2\n");
    expect(files(SERVER).get(first ?? "")?.sessions).toEqual(["s"]);
    expect(told.slice(told.indexOf("Files:"))).toBe(
      `Files:\n- out.csv (csv, 8 bytes, ${first}): the whole text:\na,b\n1,2\n\n- plot.png: [not_produced] not produced`,
    );
  });

  test("have the turn of the session, although the request has only the last one", async () => {
    const { generate } = scripted(saying("Hi"), calling(["svc_execute_python", { code: "1" }]), saying("ok"));
    const python = fakePython({ files: [textFile("a.txt", "1")] });
    const loop = testLoop({ generate, toolsets: [pythonToolset(python, CONFINED)], ...testStores() });
    await loop.answer(asking({ sessionId: "s" }, { prompt: { messages: [user("One")] } }));
    const events = await loop.answer(
      asking({ sessionId: "s", ...PYTHON }, { prompt: { messages: [user("Two")] } }),
    );
    const [file] = events.flatMap((event) => (event.type === "file_produced" ? [event.file] : []));
    expect(file?.source).toEqual({ tool: "svc_execute_python", round: 1, turn: 1 });
  });

  test("a long text has a preview", async () => {
    const python = fakePython({ files: [textFile("long.txt", "é".repeat(2000))] });
    const { told } = await once(
      pythonToolset(python, CONFINED),
      ["svc_execute_python", { code: "1" }],
      PYTHON,
    );
    expect(told).toEndWith(`svc_read_file:\n${"é".repeat(512)}`); // 1024 bytes
  });

  test("required files are requested until they are produced", async () => {
    const python = fakePython({ files: [textFile("a.csv", "1"), missingFile("b.png")] });
    const { generate } = scripted(
      calling(["svc_execute_python", { code: "1", outputs: [{ name: "b.png", format: "png" }] }]),
      calling(["svc_execute_python", { code: "2" }]),
      saying("ok"),
    );
    const loop = testLoop({ generate, toolsets: [pythonToolset(python, CONFINED)] });
    const files = [{ name: "a.csv" }, { name: "b.png", format: "png" }];
    const events = await loop.answer(asking({ ...PYTHON, files }));
    const ids = events.flatMap((event) => (event.type === "file_produced" ? [event.file.id] : []));
    expect(ids.map((id) => id.replace(/^file_[0-9a-f]{12}/, ""))).toEqual([
      "_r1_0",
      "_r1_1",
      "_r2_0",
      "_r2_1",
    ]);
    expect(python.asked.map(({ outputs }) => outputs)).toEqual([
      [{ name: "b.png", format: "png" }, { name: "a.csv" }],
      [{ name: "b.png", format: "png" }],
    ]);
  });
});

describe("the file store", () => {
  const add = async (files: ForCaller<Files>, name: string, text: string, sessionId?: string) => {
    const source = { tool: "user_upload", round: 0, turn: 0 };
    const known = { name, purpose: "user_data", source, ...defined({ sessionId }) };
    return (await files(SERVER).add(known, [new TextEncoder().encode(text)])).id;
  };

  /** One call of a file tool. */
  async function look(files: ForCaller<Files>, name: string, args: object) {
    const { generate, requests } = scripted(calling([name, args]), saying("ok"));
    const loop = testLoop({
      generate,
      toolsets: [fileToolset(files), pythonToolset(fakePython(), CONFINED)],
    });
    await loop.answer(asking({ sessionId: "s", python: true }));
    return JSON.parse(lastText(requests[1]));
  }

  test("a file is read by characters", async () => {
    const files = fileStore(ownedState(memoryState()));
    const id = await add(files, "a.txt", "a😀bcd", "s");
    const whole = { file_id: id, name: "a.txt", format: "txt", total_chars: 5, max_slice_chars: 65_536 };
    expect(await look(files, "svc_read_file", { file_id: id })).toEqual({
      ...whole,
      start: 0,
      end: 5,
      text: "a😀bcd",
    });
    expect(await look(files, "svc_read_file", { file_id: id, start: 1, end: 3 })).toMatchObject({
      text: "😀b",
    });
    expect(await look(files, "svc_read_file", { file_id: id, start: 9, end: 2 })).toMatchObject({
      start: 5,
      end: 5,
      text: "",
    });
  });

  test("a call returns at most 65536 characters", async () => {
    const files = fileStore(ownedState(memoryState()));
    const id = await add(files, "a.txt", "x".repeat(70_000));
    expect(await look(files, "svc_read_file", { file_id: id, start: 10 })).toMatchObject({ end: 65_546 });
  });

  test("errors of binary, missing and failed files; another session's file counts as missing", async () => {
    const files = fileStore(ownedState(memoryState()));
    const source = { tool: "svc_shell", round: 1, turn: 0 };
    const failed = { name: "b.txt", purpose: "agent_output", source, sessionId: "s" };
    const { id } = files(SERVER).addFailure(failed, { code: "not_produced", message: "it was not created" });
    expect(await look(files, "svc_read_file", { file_id: id })).toMatchObject({
      code: "not_produced",
      error: "it was not created",
    });
    const binary = await add(files, "a.bin", "\0");
    expect(await look(files, "svc_read_file", { file_id: binary })).toMatchObject({
      format: "bin",
      error: expect.stringContaining("binary"),
    });
    const foreign = await add(files, "secret.txt", "secret", "other");
    for (const file_id of [foreign, "file-none"]) {
      expect(await look(files, "svc_read_file", { file_id })).toEqual({
        file_id,
        error: "file not found, or expired",
      });
    }
  });

  test("the session's files are listed, oldest first", async () => {
    const files = fileStore(ownedState(memoryState()));
    await add(files, "other.txt", "x", "other");
    const first = await add(files, "b.txt", "xy", "s");
    const second = await add(files, "a.txt", "x", "s");
    expect(await look(files, "svc_list_files", {})).toEqual({
      files: [
        {
          id: first,
          name: "b.txt",
          format: "txt",
          bytes: 2,
          purpose: "user_data",
          source: "user_upload",
          round: 0,
          turn: 0,
        },
        {
          id: second,
          name: "a.txt",
          format: "txt",
          bytes: 1,
          purpose: "user_data",
          source: "user_upload",
          round: 0,
          turn: 0,
        },
      ],
    });
  });
});
