// The settings of the web search: what needs what, and the model that ranks.

import { describe, expect, test } from "bun:test";
import { SEARCH_MODEL_ID } from "../../src/config/settings.ts";
import { formatProblem } from "../../src/config/problem.ts";
import { type Flags } from "../../src/config/sources.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { showSettings } from "../../src/config/show.ts";

/** Loads with flags of [runtime]. */
const load = (runtime: Flags, environment: Readonly<Record<string, string>> = {}, others: Flags = {}) => {
  const own = Object.entries(runtime).map(([key, value]) => [`runtime.${key}`, value]);
  return loadSettings({ command: "serve", flags: { ...Object.fromEntries(own), ...others }, environment });
};

function loaded(...said: Parameters<typeof load>) {
  const result = load(...said);
  if (!result.ok) throw new Error(result.problems.map(formatProblem).join("\n"));
  return result;
}

function problems(flags: Flags): readonly string[] {
  const result = load(flags);
  return result.ok ? [] : result.problems.map(formatProblem);
}

const ON = { enable_search: true } as const;

describe("a provider", () => {
  test("is DuckDuckGo by default", () => {
    expect(loaded(ON).settings.runtime).toMatchObject({ enable_search: true, search_provider: "duckduckgo" });
    const other = loaded({ ...ON, search_provider: "searxng", search_url: "http://127.0.0.1:8888" });
    expect(other.settings.runtime).toMatchObject({
      search_provider: "searxng",
      search_url: "http://127.0.0.1:8888",
    });
  });

  test.each<[string, Flags, string]>([
    ["SearXNG without an address", { ...ON, search_provider: "searxng" }, "needs runtime.search_url"],
    ["Brave without a key", { ...ON, search_provider: "brave" }, "needs runtime.search_api_key"],
    ["an unknown one", { ...ON, search_provider: "altavista" }, "is not one of"],
    ["an address that is none", { ...ON, search_url: "localhost:8888" }, "http or https URL"],
    ["one on a server without search", { search_provider: "duckduckgo" }, "needs runtime.enable_search"],
    [
      "a model on a server without search",
      { search_embedding_model: "embedding-gemma" },
      "needs runtime.enable_search",
    ],
  ])("is refused: %s", (_what, flags, words) => {
    expect(problems(flags).join("\n")).toContain(words);
  });

  test("has a key that is never printed", () => {
    const result = loaded({ ...ON, search_provider: "brave" }, { SVC_SEARCH_API_KEY: "BSA-secret" });
    expect(result.settings.runtime.search_api_key).toBe("BSA-secret");
    const shown = showSettings(result);
    expect(shown).toContain('search_api_key = "…"');
    expect(shown).not.toContain("BSA-secret");
  });
});

describe("the ranking model", () => {
  test("by its built-in name is an additional model, not the default one", () => {
    const { settings } = loaded({ ...ON, search_embedding_model: "embedding-gemma" });
    expect(settings.models.map(({ alias }) => alias)).toEqual(["svc-tiny", "embedding-gemma"]);
    expect(settings.models[1]?.model_id).toBe(SEARCH_MODEL_ID);
  });

  test("shares the other models' processor", () => {
    const { settings } = loaded(
      { agent: true, search_embedding_model: "embedding-gemma" },
      {},
      { "models[].device.cpu": true },
    );
    expect(settings.models.map(({ device }) => device.cpu)).toEqual([true, true]);
  });

  test("may be any served model", () => {
    const { settings } = loaded({ ...ON, search_embedding_model: "svc-tiny" });
    expect(settings.models).toHaveLength(1);
    expect(problems({ ...ON, search_embedding_model: "another" })).toEqual([
      expect.stringContaining('no model is called "another"'),
    ]);
  });
});
