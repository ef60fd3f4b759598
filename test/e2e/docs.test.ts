// The code blocks of README and docs/: commands are run as written against the executable and a server with the built-in
// model, configurations are loaded, JSON is parsed, TypeScript is run. A block that cannot be run says why in a comment
// before it:  <!-- not run: REASON -->  Its calls of svc and curl are read all the same, and so are commands within sentences.

import { expect, test } from "bun:test";
import { chmodSync, existsSync, globSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parseArgs } from "../../src/cli/args.ts";
import { loadSettings } from "../../src/config/resolve.ts";
import { fileServer, newFolder } from "../helpers/binary.ts";

const ROOT = resolve(import.meta.dir, "../..");
const PAGES = ["README.md", "SECURITY.md", ...globSync("docs/*.md", { cwd: ROOT })].toSorted();
const NOT_RUN = /<!-- not run: .{5,} -->\s*$/;
const ADDRESS = /(?:http:\/\/)?localhost:1234/g;

interface Block {
  /** `docs/cli.md:30` */
  readonly place: string;
  readonly language: string;
  readonly text: string;
  readonly isRun: boolean;
}

function blocksOf(page: string): readonly Block[] {
  const text = readFileSync(join(ROOT, page), "utf8");
  return [...text.matchAll(/^```(\w+)\n([^]*?)^```$/gm)].map((match) => {
    const before = text.slice(0, match.index);
    const place = `${page}:${before.split("\n").length}`;
    return { place, language: match[1] ?? "", text: match[2] ?? "", isRun: !NOT_RUN.test(before) };
  });
}

const BLOCKS = PAGES.flatMap(blocksOf);
const server = fileServer(["-m", "svc-tiny", "-m", "flite:slt"]);

function blocks(language: string): readonly Block[] {
  // docs/clients.md has configurations of other programs, which test/clients runs.
  const isOurs = (place: string): boolean => language !== "toml" || !place.startsWith("docs/clients.md");
  return BLOCKS.filter((block) => block.language === language && block.isRun && isOurs(block.place));
}

/** Programs that only write down how they were called: one argument a line, a call ends with an empty one. */
function recordCalls(folder: string): string {
  const record = `#!/bin/bash\nprintf '%q\\n' "\${0##*/}" "$@" >>"$CALLS"; echo >>"$CALLS"\n`;
  for (const path of ["svc", "install.sh", "bin/svc", "bin/curl", "bin/aider"]) {
    mkdirSync(dirname(join(folder, path)), { recursive: true });
    writeFileSync(join(folder, path), record);
    chmodSync(join(folder, path), 0o755);
  }
  return join(folder, "calls");
}

/** The calls of a block, run by bash: of one that cannot be run, without any other program. */
function callsOf({ text, place, isRun }: Block): readonly (readonly string[])[] {
  const folder = newFolder();
  const file = recordCalls(folder);
  // Each argument is written on one line by %q, and read back by a second bash.
  const PATH = isRun ? `${join(folder, "bin")}:/usr/bin:/bin` : join(folder, "bin");
  const run = Bun.spawnSync(["/bin/bash", isRun ? "-ec" : "-c", text], {
    cwd: folder,
    env: { PATH, CALLS: file },
  });
  if (isRun && run.exitCode !== 0) throw new Error(`${place}: ${run.stderr.toString()}`);
  const written = existsSync(file) ? readFileSync(file, "utf8").trimEnd() : "";
  if (written === "") return [];
  return written.split("\n\n").map((call) => {
    const words = call.split("\n").join(" ");
    const read = Bun.spawnSync(["bash", "-c", `printf '%s\\0' ${words}`]);
    return read.stdout.toString().split("\0").slice(0, -1);
  });
}

/** Sends what a call of curl would send; gives the status. */
async function curl(words: readonly string[]): Promise<number> {
  const url = words.find((word) => /localhost:\d+/.test(word)) ?? "";
  const after = (...names: readonly string[]): string | undefined => {
    const at = words.findIndex((word) => names.includes(word));
    return at < 0 ? undefined : words[at + 1];
  };
  const body = after("-d", "--json");
  const address = url.replace(ADDRESS, server().url);
  const init = { method: "POST", body: body ?? "", headers: { "content-type": "application/json" } };
  const response = await fetch(address, body === undefined ? {} : init);
  await response.arrayBuffer();
  return response.status;
}

/** A program of the command line: the prompt of `svc run` and the like are not answered, but every flag has to exist. */
function complaintAbout(words: readonly string[]): string | undefined {
  const invocation = parseArgs(words);
  return invocation.command === "usage-error" ? invocation.text : undefined;
}

test("every language of a block is one that is checked here, or data for another program", () => {
  const known = new Set(["sh", "toml", "json", "text", "ts", "vim", "yaml"]);
  expect(BLOCKS.filter(({ language }) => !known.has(language)).map(({ place }) => place)).toEqual([]);
  expect(blocks("sh").length).toBeGreaterThan(20);
});

test.each(blocks("sh").map((block) => [block.place, block] as const))("%s: commands", async (_, block) => {
  for (const [program, ...words] of callsOf(block)) {
    if (program === "svc") expect(complaintAbout(words)).toBeUndefined();
    if (program === "curl") expect(await curl(words)).toBeLessThan(300);
  }
});

test("blocks that are not run call svc with flags that exist, and curl with a type for its body", () => {
  const skipped = BLOCKS.filter(({ language, isRun }) => language === "sh" && !isRun);
  const calls = skipped.flatMap((block) => callsOf(block).map((words) => [block.place, words] as const));
  expect(calls.length).toBeGreaterThan(20);
  for (const [place, [program, ...words]] of calls) {
    if (program === "svc") expect([place, complaintAbout(words)]).toEqual([place, undefined]);
    if (program !== "curl" || !words.includes("-d")) continue;
    expect([place, words.some((word) => /^content-type:/i.test(word))]).toEqual([place, true]);
  }
});

test("commands within sentences have flags that exist", () => {
  const quoted = PAGES.flatMap((page) =>
    [...readFileSync(join(ROOT, page), "utf8").matchAll(/`(svc [^`…]*)`/g)].map(([, line = ""]) => ({
      page,
      line,
    })),
  );
  expect(quoted.length).toBeGreaterThan(100);
  const wrong = quoted.flatMap(({ page, line }) => {
    const words = line.match(/"[^"]*"|\S+/g) ?? [];
    const complaint = complaintAbout(words.slice(1).map((word) => word.replaceAll('"', "")));
    return complaint !== undefined && /unknown (?:option|command)/.test(complaint)
      ? [`${page}: ${line}: ${complaint}`]
      : [];
  });
  expect(wrong).toEqual([]);
});

test.each(blocks("toml").map((block) => [block.place, block] as const))("%s: settings", (_, block) => {
  const folder = newFolder();
  writeFileSync(join(folder, "svc.toml"), block.text);
  const loaded = loadSettings({ configFile: join(folder, "svc.toml"), environment: {} });
  const problems = loaded.ok ? [] : loaded.problems.filter(({ what }) => !/there is no such/.test(what));
  expect(problems).toEqual([]);
});

test.each(blocks("json").map((block) => [block.place, block] as const))("%s: JSON", (_, block) => {
  expect(() => JSON.parse(block.text)).not.toThrow();
});

test.each(blocks("ts").map((block) => [block.place, block] as const))("%s: program", async (_, block) => {
  const text = block.text.replaceAll(ADDRESS, server().url);
  const client = /const client =/.test(text)
    ? ""
    : `import OpenAI from "openai";\nconst client = new OpenAI({ baseURL: "${server().url}/v1", apiKey: "none" });\n`;
  const withPaths = (client + text).replaceAll(
    /from "([^"]+)"/g,
    (_whole, name: string) => `from ${JSON.stringify(Bun.resolveSync(name, ROOT))}`,
  );
  const folder = newFolder();
  writeFileSync(join(folder, "block.ts"), withPaths);
  const child = Bun.spawn([process.execPath, "block.ts"], { cwd: folder, stdout: "ignore", stderr: "pipe" });
  const [errors, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  expect([code, errors]).toEqual([0, ""]);
});
