import { expect, test } from "bun:test";
import { formatRepo, parseHubId } from "../../src/core/hub-id.ts";

test.each([
  ["acme/tiny", { repo: "acme/tiny" }],
  ["acme/tiny-1.5B.GGUF_x", { repo: "acme/tiny-1.5B.GGUF_x" }],
  ["acme/tiny@v1.0", { repo: "acme/tiny", revision: "v1.0" }],
  ["acme/tiny@refs/pr/1", { repo: "acme/tiny", revision: "refs/pr/1" }],
  ["acme/tiny:Q4_K_M", { repo: "acme/tiny", quant: "Q4_K_M" }],
  ["acme/tiny@v1:sub/a.gguf", { repo: "acme/tiny", revision: "v1", file: "sub/a.gguf" }],
])("%s", (text, id) => {
  expect(parseHubId(text)).toEqual(id);
});

test.each([
  "tiny",
  "models/a.gguf",
  "./models/a",
  "/acme/tiny",
  "a/b/c",
  "acme/",
  "acme/ti ny",
  "../tiny",
  "acme/tiny@",
  "acme/tiny@..",
  "acme/tiny@a/../../b",
  "acme/tiny:",
  "C:\\models",
])("%s is no name on the hub", (text) => {
  expect(parseHubId(text)).toBeUndefined();
});

test("a repository is formatted with its revision, if any", () => {
  expect(formatRepo({ repo: "a/b" })).toBe("a/b");
  expect(formatRepo({ repo: "a/b", revision: "v1", quant: "Q8_0" })).toBe("a/b@v1");
});
