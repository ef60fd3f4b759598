// The web interface in a browser, against a scripted server: tools, approvals, hostile text, failures.

import { describe, expect, test } from "bun:test";
import { UsageBook } from "../../src/access/usage-book.ts";
import { accountOf, keyDigest, ownerOf } from "../../src/core/account.ts";
import { Admission } from "../../src/http/admission.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { ApiKeys } from "../../src/http/api-keys.ts";
import type { AnswerEvent } from "../../src/core/agent.ts";
import type { SystemUpstream } from "../../src/core/system.ts";
import { describeInBrowser, say, violations, visit, violationsInColors } from "../helpers/browser.ts";
import { ACCEPTED, answer, end, FINISH, text } from "../helpers/run-events.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

/** One red pixel. */
const PNG =
  "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8DwHwAFBQIAX8jx0gAAAABJRU5ErkJggg==";
const SLOW_MS = 60_000;

const shell = (commands: readonly string[], id = "call_s") => ({
  round: 1,
  callId: id,
  toolName: "svc_shell",
  arguments: JSON.stringify({ commands }),
});
const python = (code: string) => ({
  round: 2,
  callId: "call_p",
  toolName: "svc_execute_python",
  arguments: JSON.stringify({ code }),
});

/** A run in which the server lists files, plots an image and produces a file. */
async function* toolRun(): AsyncGenerator<AnswerEvent> {
  yield ACCEPTED;
  yield { type: "session", sessionId: "sess_1" };
  yield { type: "reasoning", choice: 0, text: "I **look** first." };
  yield { type: "tool_calling", ...shell(["ls -l"]), data: { tool_type: "shell", commands: ["ls -l"] } };
  yield {
    type: "tool_complete",
    ...shell(["ls -l"]),
    data: { tool_type: "shell", commands: ["ls -l"], stdout: "sum.csv\n", stderr: "a warning", exit_code: 2 },
    resultContent: "",
    images: [],
    fileIds: [],
  };
  yield { type: "tool_calling", ...python("plot()"), data: { tool_type: "code_execution", code: "plot()" } };
  yield {
    type: "file_produced",
    file: {
      id: "file_1",
      name: "sum.csv",
      mime_type: "text/csv",
      bytes: 6,
      created_at: 1,
      purpose: "agent_output",
      source: { tool: "svc_execute_python", round: 2, turn: 0 },
      text: "a,b\n1,",
    },
  };
  yield {
    type: "tool_complete",
    ...python("plot()"),
    data: { tool_type: "code_execution", stdout: "done", images_base64: [PNG], execution_time_ms: 40 },
    resultContent: "",
    images: [PNG],
    fileIds: ["file_1"],
  };
  yield text("There it **is**.");
  yield end();
  yield FINISH;
}

describeInBrowser("the web interface with a scripted server", () => {
  const ui = scriptedUi();
  /** A run with one approval request; its text is the decision. */
  const asking = async function* (): AsyncGenerator<AnswerEvent> {
    const decided = ui.decision("appr_1");
    yield ACCEPTED;
    yield { type: "tool_calling", ...shell(["rm a"]), data: { tool_type: "shell", commands: ["rm a"] } };
    yield {
      type: "approval_required",
      approvalId: "appr_1",
      sessionId: "s",
      round: 1,
      tool: { source: "built_in", kind: "shell", label: "Shell command" },
      arguments: { commands: ["rm a"] },
    };
    const { decision, message = "", remember_for_session: remember } = await decided;
    const status = decision === "deny" ? "denied" : "success";
    yield {
      type: "tool_complete",
      ...shell(["rm a"]),
      data: {
        tool_type: "shell",
        commands: ["rm a"],
        status,
        ...(status === "denied" ? { stderr: message } : {}),
      },
      resultContent: "",
      images: [],
      fileIds: [],
    };
    yield text(`${decision} ${message} ${String(remember)}`);
    yield end();
    yield FINISH;
  };

  test(
    "shows tool calls with input, output, images and files",
    async () => {
      ui.play(toolRun);
      const { page, troubles } = await visit(ui.url());
      await say(page, "Plot it");
      const [first, second] = [page.getByLabel("Shell: ls -l"), page.getByLabel("Python", { exact: true })];
      expect(await first.getByText("exit code 2").count()).toBe(1);
      await first.getByRole("button").first().click();
      expect(await first.locator(".output").allInnerTexts()).toEqual(["sum.csv\n", "a warning"]);
      expect(await second.getByText("40 ms").count()).toBe(1);
      expect(await page.getByAltText("Tool result 1").getAttribute("src")).toBe(
        `data:image/png;base64,${PNG}`,
      );
      const download = page.waitForEvent("download");
      await page.getByRole("button", { name: /sum\.csv/ }).click();
      expect((await download).suggestedFilename()).toBe("sum.csv");
      expect(await page.locator(".answer strong").innerText()).toBe("is");
      await page.getByRole("button", { name: "Reasoning" }).click();
      expect(await page.locator(".reasoning strong").innerText()).toBe("look");
      await page.getByLabel("Conversation settings").first().click();
      expect(await page.getByText("sess_1").count()).toBe(1);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  describe("an action that requires approval", () => {
    test(
      "is approved for the rest of the session",
      async () => {
        ui.play(asking);
        const { page } = await visit(ui.url());
        await page.getByLabel("Message").fill("Delete it");
        await page.keyboard.press("Enter");
        const card = page.getByLabel("Approval required");
        expect(await card.locator("code").innerText()).toBe("rm a");
        await card.getByLabel("Remember for this session").check();
        await card.getByRole("button", { name: "Approve" }).click();
        await page.getByText("approve true").waitFor();
        expect(await card.count()).toBe(0);
      },
      SLOW_MS,
    );

    test(
      "is denied with a reason for the model",
      async () => {
        ui.play(asking);
        const { page } = await visit(ui.url());
        await page.getByLabel("Message").fill("Delete it");
        await page.keyboard.press("Enter");
        await page.getByLabel("Reason for denial").fill("Keep it");
        await page.getByRole("button", { name: "Deny" }).click();
        await page.getByText("deny Keep it false").waitFor();
        expect(await page.getByText("denied").count()).toBe(1);
      },
      SLOW_MS,
    );

    test(
      "is removed when the answer is stopped",
      async () => {
        ui.play(asking);
        const { page } = await visit(ui.url());
        await page.getByLabel("Message").fill("Delete it");
        await page.keyboard.press("Enter");
        await page.getByLabel("Approval required").waitFor();
        await page.getByLabel("Stop").click();
        await page.getByText("Stopped.").waitFor();
        expect(await page.getByLabel("Approval required").count()).toBe(0);
      },
      SLOW_MS,
    );
  });

  test(
    "renders hostile text as plain text",
    async () => {
      const hostile = [
        "<img src=x onerror=\"document.title='owned'\">",
        "<script>document.title='owned'</script>",
        "[click](javascript:document.title='owned')",
        "![pixel](https://tracker.example/p.png)",
      ].join("\n\n");
      ui.play(async function* () {
        yield* answer(hostile);
      });
      const { page, troubles } = await visit(ui.url());
      await say(page, "Be hostile");
      expect(await page.locator(".answer img, .answer script, .answer a[href^='javascript']").count()).toBe(
        0,
      );
      expect(await page.getByText("<script>").count()).toBeGreaterThan(0);
      expect(await page.title()).not.toContain("owned");
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "shows the error and keeps the text before it",
    async () => {
      ui.play(async function* () {
        yield ACCEPTED;
        yield text("Half an");
        yield { type: "error", error: { code: "engine_failed", message: "the engine died" } };
      });
      const { page } = await visit(ui.url());
      await say(page, "Hello");
      expect(await page.getByRole("alert").innerText()).toBe("the engine died");
      expect(await page.getByText("Half an").count()).toBe(1);
      ui.play(async function* () {
        yield ACCEPTED;
        yield { type: "error", error: { code: "model_unavailable", message: "the model does not load" } };
      });
      await say(page, "Again");
      await page.getByRole("link", { name: "See the models of this server" }).waitFor();
      expect(await page.getByText("The answer is complete.").count()).toBe(0);
      ui.play(async function* () {
        yield* answer("At last");
      });
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByText("At last").waitFor();
    },
    SLOW_MS,
  );

  test(
    "offers adapters below their model, and sends the selected one",
    async () => {
      ui.route("/v1/models", () =>
        Response.json({
          object: "list",
          data: [
            { id: "base", status: "loaded" },
            { id: "base:poet", status: "loaded", parent: "base", root: "poet" },
          ],
        }),
      );
      let asked = "";
      ui.play(async function* ({ run }) {
        asked = run.model;
        yield* answer("Yes");
      });
      const { page } = await visit(ui.url());
      await page.getByRole("button", { name: /^Model: .*base/ }).click();
      const names = await page.getByRole("option").allInnerTexts();
      expect(names.map((text) => text.split("\n", 1)[0])).toEqual([
        "Default: base",
        "base",
        "poet (adapter of base)",
      ]);
      expect(await violations(page)).toEqual([]);
      await page.getByRole("combobox").fill("poet");
      await page.keyboard.press("Enter");
      await say(page, "Hello");
      expect(asked).toBe("base:poet");
    },
    SLOW_MS,
  );

  test(
    "lists, loads and unloads adapters if the server supports it",
    async () => {
      const adapters = [{ id: "poet", rank: 8, bytes: 2048, generation: "g1" }];
      const sent: unknown[] = [];
      ui.route("/api-doc/openapi.json", () =>
        Response.json({ paths: { "/v1/lora_adapters": {}, "/v1/load_lora_adapter": {} } }),
      );
      let lists = 0;
      ui.route("/v1/lora_adapters", () =>
        // The first request fails; the next refresh of the page repeats it.
        lists++ === 0
          ? new Response("", { status: 500 })
          : Response.json({ data: adapters, max_adapters: 4, resident_bytes: 2048 }),
      );
      ui.route("/v1/load_lora_adapter", async (request) => {
        sent.push(await request.json());
        adapters.push({ id: "cook", rank: 4, bytes: 1024, generation: "g2" });
        return Response.json({});
      });
      ui.route("/v1/unload_lora_adapter", async (request) => {
        sent.push(await request.json());
        adapters.shift();
        return Response.json({});
      });
      const { page } = await visit(ui.url());
      await page.getByRole("link", { name: "Models", exact: true }).click();
      await page.getByText("rank 8").waitFor();
      await page.getByLabel("Adapter name").fill("cook");
      await page.getByLabel("Adapter folder on the server").fill("adapters/cook");
      await page.getByRole("button", { name: "Load", exact: true }).click();
      await page.getByText("rank 4").waitFor();
      await page.locator("li", { hasText: "poet" }).getByRole("button", { name: "Unload" }).click();
      await until("the adapter is gone", async () => (await page.getByText("rank 8").count()) === 0);
      expect(sent).toEqual([
        { lora_name: "cook", lora_path: "adapters/cook", model: "base" },
        { lora_name: "poet", expected_generation: "g1", model: "base" },
      ]);
    },
    SLOW_MS,
  );

  test(
    "shows the upstream servers of a model, which cannot be unloaded",
    async () => {
      const healthy: SystemUpstream = {
        upstream: "gpu1:8000",
        model: "Qwen/Qwen3-32B",
        engine: "vllm",
        status: "healthy",
        in_flight: 3,
        problem: null,
        cooldown_left: null,
        last_error: null,
        last_error_at: null,
      };
      const problem = "no connection (ECONNREFUSED)";
      const failed = { ...healthy, upstream: "gpu2:8000", status: "cooling", in_flight: 0, problem };
      let second: object = {
        ...failed,
        cooldown_left: 12.5,
        last_error: problem,
        last_error_at: 1_700_000_000,
      };
      ui.route("/v1/models", () =>
        Response.json({ object: "list", data: [{ id: "base", status: "loaded" }] }),
      );
      ui.route("/v1/system/info", () =>
        Response.json({ models: [{ id: "base", upstreams: [healthy, second] }] }),
      );
      const { page } = await visit(ui.url());
      await page.clock.install();
      await page.getByRole("link", { name: "Models", exact: true }).click();
      const model = page.getByRole("region", { name: "base", exact: true });
      const row = (name: string) => model.locator("li", { hasText: name });
      await row("gpu1:8000").getByText("vllm · Qwen/Qwen3-32B · 3 in flight").waitFor();
      await row("gpu2:8000").getByText("cooling", { exact: true }).waitFor();
      expect(await row("gpu2:8000").innerText()).toMatch(
        /tried again in 12\.5 s · last error .+: no connection/,
      );
      const operations = model.locator("header"); // adapters of earlier tests have buttons, too
      expect(await operations.getByRole("button", { name: "Unload", exact: true }).count()).toBe(0);
      // The page follows.
      second = {
        ...failed,
        status: "healthy",
        problem: null,
        last_error: problem,
        last_error_at: 1_700_000_000,
      };
      await page.clock.fastForward(5000);
      await row("gpu2:8000").getByText("healthy", { exact: true }).waitFor();
      expect(await row("gpu2:8000").innerText()).not.toContain("tried again");
    },
    SLOW_MS,
  );

  test(
    "is accessible",
    async () => {
      ui.play(toolRun);
      const { page } = await visit(ui.url(), { bypassCSP: true });
      await say(page, "# Hello");
      for (const fold of await page.locator(".fold").all()) await fold.click();
      ui.play(asking);
      await page.getByLabel("Message").fill("Delete it");
      await page.keyboard.press("Enter");
      await page.getByLabel("Approval required").waitFor();
      expect(await violationsInColors(page)).toEqual([]);
    },
    SLOW_MS,
  );
});

/** Keys of a user and an administrator. */
const TEAM = (["user", "admin"] as const).map((role) => {
  const who = { owner: ownerOf("name", role), name: role === "user" ? "Anna" : "Otto" };
  const fields = { role, ...(role === "user" ? { budget_tokens_per_day: 2000 } : {}) };
  return { digest: keyDigest(role), account: accountOf(fields, who) };
});

describeInBrowser("a team's server", () => {
  const apiKeys = new ApiKeys([], { named: () => TEAM });
  const keyed = { keys: apiKeys, addressOf: () => "", placesOf: () => 8, isCrowded: () => false };
  const spent = {
    promptTokens: 1200,
    cachedTokens: 300,
    completionTokens: 100,
    reasoningTokens: 0,
    toolCalls: 0,
    seconds: 1,
  };
  const usage = new UsageBook(ownedState(memoryState()));
  for (const { account } of TEAM) usage.add(account, "tiny", 3, spent);
  const ui = scriptedUi({ apiKeys, admission: new Admission(keyed), usage: usage.read });

  test(
    "shows users their own usage and no pages about the server, administrators all",
    async () => {
      const { page } = await visit(ui.url());
      const signIn = async (key: string): Promise<void> => {
        await page.getByLabel("API key", { exact: true }).last().fill(key);
        await page.getByRole("button", { name: "Save", exact: true }).click();
        await page.getByRole("link", { name: "Usage" }).click();
        await page.getByText("Total", { exact: true }).waitFor();
      };
      await signIn("user");
      await page.getByText("My usage").waitFor();
      await page.getByText("1,300 of 2,000").waitFor();
      expect(await page.getByRole("link", { name: "Metrics" }).count()).toBe(0);
      expect(await page.locator("tbody tr").count()).toBe(1);
      expect(await violations(page)).toEqual([]);
      await page.evaluate(() => (location.hash = "#/models"));
      await page.getByText("This page is for administrators").waitFor();
      expect(await page.getByRole("button", { name: "Unload" }).count()).toBe(0);
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("Sign out");
      await page.keyboard.press("Enter");
      await signIn("admin");
      await page.getByText("Usage of all keys").waitFor();
      await page.getByRole("link", { name: "Metrics" }).waitFor();
      expect(await page.locator("tbody tr").count()).toBe(2);
    },
    SLOW_MS,
  );
});

describeInBrowser("a server that requires API keys", () => {
  const ui = scriptedUi({ apiKeys: new ApiKeys(["secret"]) });

  test(
    "receives the key that the user enters, refuses another, and forgets it when the user signs out",
    async () => {
      ui.play(async function* () {
        yield* answer("Welcome");
      });
      const { page } = await visit(ui.url());
      const enter = async (key: string): Promise<void> => {
        await page.getByLabel("API key", { exact: true }).last().fill(key);
        await page.getByRole("button", { name: "Save" }).click();
      };
      for (const key of ["wrong", "pasted\u{200b}", "wrong"]) {
        await enter(key);
        await page.getByText("does not accept this key").waitFor();
      }
      await enter("secret");
      await page.getByRole("link", { name: "Images" }).first().waitFor(); // asked for again, now with the key
      await say(page, "Hello");
      expect(await page.getByText("Welcome").count()).toBe(1);
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("Change the API key");
      await page.keyboard.press("Enter");
      await page.getByText("This server requires an API key").waitFor();
      expect(await page.getByText("does not accept this key").count()).toBe(0);
      await page.keyboard.press("Escape");
      await page.keyboard.press("Control+k");
      await page.getByRole("combobox", { name: "Search actions" }).fill("Sign out");
      await page.keyboard.press("Enter");
      await page.getByText("This server requires an API key").waitFor();
      expect(await page.getByText("does not accept this key").count()).toBe(0);
      expect(await page.evaluate(() => JSON.stringify(localStorage))).not.toContain("secret");
    },
    SLOW_MS,
  );
});
