import { expect, test } from "bun:test";
import { renewed } from "../../scripts/catalogue.ts";
import { CATALOGUE, CATALOGUE_ENTRIES, catalogued, searchCatalogue } from "../../src/core/catalogue.ts";
import { parseArgs } from "../../src/cli/args.ts";
import { parseHubId } from "../../src/core/hub-id.ts";
import { VERSION } from "../../src/core/version.ts";
import { modelName } from "../../src/config/model-name.ts";
import { COMMIT, fakeHub } from "../helpers/fake-hub.ts";

test("the catalogue belongs to this release: bun scripts/catalogue.ts renews it", () => {
  expect(CATALOGUE.version).toBe(VERSION);
  expect(CATALOGUE.date).toMatch(/^20\d\d-\d\d-\d\d$/);
});

test("every name means one repository, and every family has its usual size", () => {
  for (const { name, repo, revision, billions } of CATALOGUE_ENTRIES) {
    expect(parseHubId(name)).toEqual(revision === undefined ? { repo } : { repo, revision });
    expect(parseHubId(repo)).toEqual({ repo });
    expect(billions).toBeWithin(0.05, 2000);
  }
  for (const { name, usual } of CATALOGUE.models) expect(catalogued(name)?.name).toBe(`${name}:${usual}`);
  expect(new Set(CATALOGUE_ENTRIES.map(({ name }) => name)).size).toBe(CATALOGUE_ENTRIES.length);
});

test("a name is known in any case, nothing else is", () => {
  expect(catalogued("Qwen3:4B")?.repo).toBe("Qwen/Qwen3-4B-GGUF");
  expect(modelName({ model_id: "qwen3:4b" })).toBe("qwen3:4b");
  for (const word of ["", "qwen3:", "qwen3:5b", "qwen", "hello", "__proto__", "a/qwen3"])
    expect(catalogued(word)).toBeUndefined();
});

test("svc run takes a name for the model, other words for the prompt", () => {
  const named = parseArgs(["run", "qwen3:4b", "What", "is", "this?"]);
  expect(named).toMatchObject({
    command: "run",
    input: "What is this?",
    flags: { "models[].model_id": ["qwen3:4b"] },
  });
  expect(parseArgs(["run", "qwen3 is what?"])).toMatchObject({ input: "qwen3 is what?", flags: {} });
  const both = parseArgs(["run", "-m", "a/b", "gemma3"]);
  expect(both).toMatchObject({ input: "gemma3", flags: { "models[].model_id": ["a/b"] } });
});

test("a search finds names by words of name and repository", () => {
  expect(searchCatalogue("smol 360").map(({ name }) => name)).toEqual(["smollm2:360m"]);
  expect(searchCatalogue("")).toHaveLength(CATALOGUE_ENTRIES.length);
});

test("it is renewed from the hub: commits, licence, parameters, day; a repository that is gone is an error", async () => {
  const hub = fakeHub({
    "a/b": {
      files: { "b-Q8_0.gguf": new Uint8Array(9) },
      facts: { tags: ["license:mit"], gguf: { total: 1_234_567_890 } },
    },
  });
  const access = { endpoint: hub.url, token: undefined, retryMs: 1 };
  const size = { size: "1b", repo: "a/b", billions: 1, quant: "Q8_0" };
  const before = {
    date: "2020-01-01",
    version: "0",
    models: [{ name: "b", license: "x", kinds: ["text"], usual: "1b", sizes: [size] }],
  };
  expect(await renewed(before, access, new Date("2026-11-28T01:00:00Z"))).toEqual({
    date: "2026-11-28",
    version: VERSION,
    models: [
      {
        name: "b",
        license: "mit",
        kinds: ["text"],
        usual: "1b",
        sizes: [{ ...size, billions: 1.23, revision: COMMIT }],
      },
    ],
  });
  const gone = {
    ...before,
    models: before.models.map((one) => ({ ...one, sizes: [{ ...size, repo: "a/gone" }] })),
  };
  expect(renewed(gone, access, new Date())).rejects.toThrow("a/gone");
});
