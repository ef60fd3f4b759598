// The Models page in a browser, against scripted routes of the hub.

import { expect, test } from "bun:test";
import type { Page } from "playwright-core";
import type { HubPull } from "../../src/core/hub.ts";
import { proposalsFor } from "../../ui/state/proposals.ts";
import { describeInBrowser, violations, visit } from "../helpers/browser.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";
import { until } from "../helpers/until.ts";

const SLOW_MS = 60_000;
const GIB = 1024 ** 3;

test("proposes at most three models, all of which fit", () => {
  expect(proposalsFor(0.5 * GIB, 100 * GIB)).toEqual([]);
  expect(proposalsFor(2 * GIB, 100 * GIB)).toHaveLength(1);
  for (const memory of [4, 8, 16, 64]) {
    const proposals = proposalsFor(memory * GIB, 100 * GIB);
    expect(proposals).toHaveLength(memory === 4 ? 2 : 3);
    for (const { memory: needed } of proposals) expect(needed).toBeLessThanOrEqual(memory * GIB);
  }
  expect(proposalsFor(64 * GIB, 3 * GIB).every(({ download }) => download <= 3 * GIB)).toBe(true);
});

const machine = {
  memory_total_bytes: 24 * GIB,
  memory_free_bytes: 8 * GIB,
  disk_free_bytes: 90 * GIB,
  models_bytes: 2 * GIB,
  models_max_bytes: null,
};
const ID = "acme/tiny-GGUF:Q4_K_M";
const repository = {
  id: "acme/tiny-GGUF",
  object: "hub.repository",
  access: "public",
  downloads: 1234,
  likes: 5,
  updated_at: 1,
  license: "mit",
  task: null,
  architecture: "llama",
  parameters: 600_000_000,
  context_length: 40_960,
  tags: [],
  downloaded: false,
};
const choice = (quantization: string, fit: string, isDefault: boolean) => ({
  id: `acme/tiny-GGUF:${quantization}`,
  quantization,
  files: [`tiny-${quantization}.gguf`],
  size_bytes: GIB,
  projector: null,
  draft: null,
  download_bytes: GIB,
  memory_bytes: 1.5 * GIB,
  fit,
  quality: "good",
  loaded_bytes: 1e9,
  memory: [],
  context_fits: 32_768,
  layers: 29,
  device_layers: 0,
  tokens_per_second: { expected: 12, low: 9, high: 15 },
  is_default: isDefault,
  downloaded: false,
});

describeInBrowser("the models page", () => {
  const ui = scriptedUi();
  let pulls: HubPull[] = [];
  let isThere = false;
  let isHubAway = false;
  const asked: string[] = [];

  const pullState = (status: HubPull["status"], completed: number): HubPull => ({
    id: "pull_1",
    object: "hub.pull",
    source: ID,
    model: ID,
    status,
    total_bytes: GIB,
    completed_bytes: completed,
    bytes_per_second: status === "downloading" ? GIB / 64 : 0,
    seconds_left: status === "downloading" ? 32 : null,
    files: [],
    created_at: 1,
    error: null,
  });

  async function open(): Promise<Page> {
    pulls = [];
    isThere = false;
    asked.length = 0;
    const model = {
      id: ID,
      object: "hub.model",
      repository: "acme/tiny-GGUF",
      commit: "c",
      quantization: "Q4_K_M",
      files: ["tiny.gguf"],
      size_bytes: GIB,
      projector: null,
      draft: null,
      used_at: 1,
      served_as: ID,
      is_removable: true,
    };
    const capabilities = { tools: true, vision: false, audio: false, reasoning: true, embeddings: false };
    const tiny = { id: "svc-tiny", status: "loaded", kind: "text", context_length: 4096 };
    ui.route("/v1/models", () =>
      Response.json({
        data: isThere ? [tiny, { ...tiny, id: ID, context_length: 40_960, capabilities }] : [tiny],
      }),
    );
    ui.route("/v1/hub/models", () =>
      Response.json({ object: "list", data: isThere ? [model] : [], machine }),
    );
    ui.route("/v1/hub/pulls", () => Response.json({ object: "list", data: pulls }));
    ui.route("/v1/hub/search", ({ url }) => {
      if (isHubAway) return Response.json({ error: { message: "the hub is away" } }, { status: 502 });
      asked.push(new URL(url).search);
      return Response.json({ object: "list", data: [repository] });
    });
    ui.route("/v1/hub/models/acme/tiny-GGUF", () =>
      Response.json({
        ...repository,
        revision: "main",
        commit: "c",
        files: [],
        machine,
        estimate: {
          recommended: ID,
          reason: "the best quality (good) that fits",
          memory_bytes_per_second: 2e10,
          devices: [],
        },
        models: [choice("Q4_K_M", "fits", true), choice("F32", "too_large", false)],
      }),
    );
    ui.route("/v1/hub/pull", async (request) => {
      asked.push(await request.text());
      pulls = [pullState("downloading", GIB / 2)];
      return Response.json(pulls[0]);
    });
    ui.route("/v1/hub/pulls/pull_1/pause", () => {
      pulls = [pullState("paused", GIB / 2)];
      return Response.json(pulls[0]);
    });
    ui.route("/v1/hub/pulls/pull_1", () => {
      pulls = [];
      return Response.json({ id: "pull_1", object: "hub.pull", deleted: true });
    });
    ui.route("/v1/hub/models/acme/tiny-GGUF%3AQ4_K_M", ({ method }) => {
      asked.push(method);
      isThere = false;
      return Response.json({ id: ID, object: "hub.model", deleted: true, freed_bytes: GIB });
    });
    const { page } = await visit(ui.url());
    return page;
  }
  const toModels = (page: Page) => page.getByRole("link", { name: "Models", exact: true }).click();

  test(
    "finds a model, downloads it with pause and resume, uses and deletes it",
    async () => {
      const page = await open();
      await toModels(page);
      isHubAway = true;
      await page.getByLabel("Search the hub").fill("tiny");
      await page.getByText("the hub is away").waitFor();
      isHubAway = false;
      await page.getByRole("button", { name: "Try again" }).click();
      await page.getByRole("button", { name: "acme/tiny-GGUF" }).click();
      await page.getByText("600M parameters · llama · context 40K · 1,234 downloads · mit").waitFor();
      expect(asked).toEqual(["?q=tiny&sort=downloads"]);
      await page.getByText("too large").waitFor();
      expect(await page.getByLabel("Download acme/tiny-GGUF:F32").isDisabled()).toBe(true);
      expect(await violations(page)).toEqual([]);
      await page.getByLabel(`Download ${ID}`).click();
      await page.getByText("537 MB of 1.1 GB · 16.8 MB/s · 32.0 s left").waitFor();
      expect(JSON.parse(asked.at(-1) ?? "")).toEqual({ source: ID, stream: false });
      await page.getByLabel(`Pause ${ID}`).click();
      await page.getByText("537 MB of 1.1 GB · paused").waitFor();
      expect(await violations(page)).toEqual([]);
      await page.getByLabel(`Resume ${ID}`).click();
      await page.getByLabel(`Pause ${ID}`).waitFor();
      isThere = true;
      pulls = [pullState("completed", GIB)];
      await page.getByText(`${ID} is ready.`).waitFor();
      const card = page.getByRole("region", { name: ID });
      await card.getByText("reasons").waitFor();
      await card.getByText("Q4_K_M", { exact: true }).waitFor();
      await page.getByRole("button", { name: "Use it" }).click();
      await page.getByRole("button", { name: `Model: ${ID}` }).waitFor();
      await toModels(page);
      await page.getByLabel(`Delete ${ID}`).click();
      await page.getByRole("button", { name: "Delete 1.1 GB" }).click();
      await until("it is gone", async () => (await card.count()) === 0);
      expect(asked.at(-1)).toBe("DELETE");
    },
    SLOW_MS,
  );

  test(
    "a download is cancelled",
    async () => {
      const page = await open();
      pulls = [pullState("paused", 1)];
      await toModels(page);
      await page.getByLabel(`Cancel ${ID} and delete what has come`).click();
      await until("it is gone", async () => (await page.getByLabel("Downloads").count()) === 0);
    },
    SLOW_MS,
  );

  test(
    "a first visit proposes models that fit, and downloads none by itself",
    async () => {
      const page = await open();
      await page.getByRole("region", { name: "Models for this machine" }).waitFor();
      expect(await page.locator(".proposals li").count()).toBe(3);
      expect(await violations(page)).toEqual([]);
      expect(asked).toEqual([]);
      await page.locator(".proposals button").first().click();
      await until("it is asked for", () => asked.length === 1);
    },
    SLOW_MS,
  );

  test(
    "a model's card says where its layers are; one without a device has no such line",
    async () => {
      const page = await open();
      const placement = "12 of 25 layers on CUDA0, the rest on the CPU";
      const tiny = { id: "svc-tiny", status: "loaded", kind: "text", context_length: 4096 };
      ui.route("/v1/models", () => Response.json({ data: [tiny, { ...tiny, id: "large", placement }] }));
      await toModels(page);
      const cards = page.locator("section.card").filter({ has: page.locator("header") });
      await cards.filter({ hasText: "large" }).getByText(placement, { exact: true }).waitFor();
      expect(await page.getByText(/layers on|on the CPU/).count()).toBe(1);
      expect(await violations(page)).toEqual([]);
    },
    SLOW_MS,
  );

  test(
    "a model of this machine is pinned and unpinned, its defaults are shown",
    async () => {
      const page = await open();
      let pinned = false;
      const sent: string[] = [];
      const cards = () => [
        {
          id: "svc-tiny",
          status: "loaded",
          kind: "text",
          pinned,
          quantization: "Q8_0",
          size_bytes: GIB,
          defaults: { temperature: 0.7, top_k: 20, top_p: 0.9, stop: ["a"], system: true, thinking: false },
          defaults_from: { top_k: "file", top_p: "svc" },
        },
        { id: "remote", status: "loaded", kind: "text" },
      ];
      ui.route("/v1/models", () => Response.json({ data: cards() }));
      for (const name of ["pin", "unpin"]) {
        ui.route(`/v1/models/${name}`, async (request) => {
          sent.push(`${name} ${await request.text()}`);
          pinned = name === "pin";
          return Response.json({ model_id: "svc-tiny", status: "loaded", pinned });
        });
      }
      await toModels(page);
      const card = page.getByRole("region", { name: "svc-tiny" });
      await card.getByText("Q8_0").waitFor();
      for (const line of [
        "Defaults: System prompt · Temperature 0.7 · 1 stop string · reasoning off",
        "Defaults of the model's file: Top k 20",
        "Defaults of svc: Top p 0.9",
      ])
        await card.getByText(line, { exact: true }).waitFor();
      const button = page.getByRole("button", { name: "Pin svc-tiny" });
      await button.click();
      await page.getByRole("button", { name: "Pin svc-tiny", pressed: true }).waitFor();
      expect(await violations(page)).toEqual([]);
      await button.click();
      await page.getByRole("button", { name: "Pin svc-tiny", pressed: false }).waitFor();
      expect(sent).toEqual(['pin {"model_id":"svc-tiny"}', 'unpin {"model_id":"svc-tiny"}']);
      expect(await page.getByRole("button", { name: "Pin remote" }).count()).toBe(0);
      await page.getByRole("button", { name: "New conversation" }).click();
      await page.getByLabel("Conversation settings").first().click();
      const hint = (label: string) => page.getByLabel(label, { exact: true }).getAttribute("placeholder");
      expect(await Promise.all(["Temperature", "Top k", "Top p", "System prompt"].map(hint))).toEqual([
        "0.7",
        "20",
        "0.9",
        "Empty: the model's own instructions",
      ]);
      await page.getByLabel("Temperature", { exact: true }).fill("1.5");
      await page.getByRole("button", { name: "Back to the model's defaults" }).click();
      expect(await page.getByLabel("Temperature", { exact: true }).inputValue()).toBe("");
    },
    SLOW_MS,
  );

  test(
    "load settings show the memory as they change, and are kept; a file is added and taken back",
    async () => {
      const page = await open();
      let files: string[] = [];
      const kept: unknown[] = [];
      let holds: { max_seq_len?: number } = {};
      const card = { id: "svc-tiny", status: "loaded", kind: "text", pinned: false, chat_template: "none" };
      ui.route("/v1/models", () =>
        Response.json({ data: [card, ...files.map((id) => ({ ...card, id, status: "unloaded" }))] }),
      );
      ui.route("/v1/models/load_settings", async (request) => {
        const { settings, dry_run: isTrial = false } = (await request.json()) as {
          settings?: { max_seq_len?: number };
          dry_run?: boolean;
        };
        if (settings !== undefined && !isTrial) kept.push((holds = settings));
        const length = (settings ?? holds).max_seq_len ?? 4096;
        return Response.json({
          model_id: "svc-tiny",
          settings: settings ?? holds,
          configured: { threads: 3 },
          trained_context_length: 4096,
          layers: 7,
          threads: 2,
          has_devices: true,
          memory_bytes: length * 1024 * 1024,
          memory_free_bytes: 3 * GIB,
        });
      });
      ui.route("/v1/models/reload", async (request) => {
        kept.push(await request.json());
        return Response.json({ model_id: "svc-tiny", status: "loaded" });
      });
      ui.route("/v1/hub/files/forget", () => Response.json({ object: "list", data: (files = []) }));
      ui.route("/v1/hub/files", async (request) => {
        if (request.method === "POST") files = [((await request.json()) as { path: string }).path];
        return Response.json({ object: "list", id: files[0], data: files.map((id) => ({ id })) });
      });
      await toModels(page);
      const model = page.getByRole("region", { name: "svc-tiny" });
      await model.getByText("base model: continues texts").waitFor();
      await model.getByText("Load settings").click();
      await model.getByText("Takes up to 4.3 GB of memory; 3.2 GB are free.").waitFor();
      expect(await model.getByLabel("Threads").getAttribute("placeholder")).toBe("3");
      await model.getByLabel("Layers on the graphics card, of 7").fill("2");
      await model.getByLabel("Context", { exact: true }).fill("1024");
      await model.getByLabel("Type of the KV cache").selectOption("q8_0");
      await model.getByText("Takes up to 1.1 GB of memory; 3.2 GB are free.").waitFor();
      expect(await violations(page)).toEqual([]);
      expect(kept).toEqual([]);
      await model.getByRole("button", { name: "Save and load again" }).click();
      await page.getByText("svc-tiny is loaded with these settings from now on.").waitFor();
      const chosen = { device_layers: 2, max_seq_len: 1024, cache_type: "q8_0" };
      expect(kept).toEqual([chosen, { model_id: "svc-tiny" }]);
      await model.getByRole("button", { name: "Back to the configuration" }).click();
      await model.getByText("Takes up to 4.3 GB of memory; 3.2 GB are free.").waitFor();
      expect(await model.getByLabel("Context, tokens").inputValue()).toBe("");
      await page.getByLabel("Path of a GGUF file").fill("added");
      await page.getByRole("button", { name: "Add", exact: true }).click();
      await page.getByText("added is ready.").waitFor();
      await page.getByRole("button", { name: "Remove added from the list" }).click();
      await page.getByText("added is no longer served. Its file stays.").waitFor();
    },
    SLOW_MS,
  );

  test(
    "a server that keeps its models says so",
    async () => {
      const page = await open();
      ui.route("/v1/hub/models", () => Response.json({ error: { message: "none" } }, { status: 404 }));
      await toModels(page);
      await page.getByText("models_mutable = true").waitFor();
      expect(await page.getByLabel("Search the hub").count()).toBe(0);
      expect(await violations(page)).toEqual([]);
    },
    SLOW_MS,
  );
});
