// Where the hub's tools keep things, and the token.

import { describe, expect, test } from "bun:test";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { hubPlace } from "../../src/hub/place.ts";
import { ProgressLog } from "../../src/hub/progress.ts";
import { readToken, storeToken } from "../../src/hub/token.ts";
import { tempDir } from "../helpers/tmp.ts";

describe("the place", () => {
  test.each([
    [{}, "/home/u/.cache/huggingface/hub", "/home/u/.cache/huggingface/token"],
    [{ XDG_CACHE_HOME: "/x" }, "/x/huggingface/hub", "/x/huggingface/token"],
    [{ XDG_CACHE_HOME: "/x", HF_HOME: "~/hf" }, "/home/u/hf/hub", "/home/u/hf/token"],
    [{ HF_HOME: "/hf", HF_HUB_CACHE: "/c", HF_TOKEN_PATH: "/t" }, "/c", "/t"],
    [{ HUGGINGFACE_HUB_CACHE: "/old" }, "/old", "/home/u/.cache/huggingface/token"],
    [{ HF_HOME: "" }, "/home/u/.cache/huggingface/hub", "/home/u/.cache/huggingface/token"],
  ])("%j", (environment, cacheDir, tokenFile) => {
    expect(hubPlace({ HOME: "/home/u", ...environment })).toMatchObject({
      cacheDir,
      tokenFile,
      offline: false,
    });
  });

  test("the setting wins over the environment", () => {
    expect(hubPlace({ HF_HUB_CACHE: "/c" }, "/mine").cacheDir).toBe("/mine");
  });

  test("the address and offline mode", () => {
    expect(hubPlace({}).endpoint).toBe("https://huggingface.co");
    expect(hubPlace({ HF_ENDPOINT: "http://mirror//" }).endpoint).toBe("http://mirror");
    expect(["1", "ON", "yes", "True"].map((HF_HUB_OFFLINE) => hubPlace({ HF_HUB_OFFLINE }).offline)).toEqual(
      Array.from({ length: 4 }, () => true),
    );
    expect(hubPlace({ HF_HUB_OFFLINE: "0" }).offline).toBe(false);
  });
});

describe("the token", () => {
  const folder = tempDir();
  const place = hubPlace({ HF_HOME: folder });
  writeFileSync(join(folder, "mine"), "from-file\n");

  test.each([
    ["literal:abc:d", {}, "abc:d"],
    ["env:MY", { MY: " from-env " }, "from-env"],
    [`path:${join(folder, "mine")}`, {}, "from-file"],
    ["none", { HF_TOKEN: "unwanted" }, undefined],
    ["cache", { HF_TOKEN: "wanted" }, "wanted"],
    ["cache", {}, undefined],
  ])("%s with %j is %p", (source, environment, token) => {
    expect(readToken(source, place, environment)).toBe(token);
  });

  test.each([
    ["env:MY", "the environment variable MY, which has no token"],
    ["path:/nowhere/token", "the file /nowhere/token, which has no token"],
  ])("%s that is not there is said", (source, words) => {
    expect(() => readToken(source, place, {})).toThrow(words);
  });

  test("is stored for its user alone, and found again", () => {
    const home = join(tempDir(), "new");
    const own = hubPlace({ HF_HOME: home });
    storeToken(own, "first");
    storeToken(own, "hf_second");
    expect(readFileSync(own.tokenFile, "utf8")).toBe("hf_second");
    expect(statSync(own.tokenFile).mode & 0o777).toBe(0o600);
    expect(statSync(home).mode & 0o777).toBe(0o700);
    expect(readToken("cache", own, {})).toBe("hf_second");
  });
});

test("progress in lines: the first, one now and then, the last", () => {
  const lines: string[] = [];
  let now = 0;
  const meter = new ProgressLog(
    (line) => void lines.push(line),
    {},
    () => now,
  );
  for (let mb = 0; mb <= 100; mb++) {
    meter.update({ doneBytes: mb * 1e6, totalBytes: 1e8 });
    now += 250;
  }
  meter.stop();
  expect(lines).toEqual([
    "downloading: 0 % of 100.0 MB",
    "downloading: 40 % of 100.0 MB at 4.0 MB/s, 15 s left",
    "downloading: 80 % of 100.0 MB at 4.0 MB/s, 5 s left",
    "downloading: 100 % of 100.0 MB",
  ]);
});
