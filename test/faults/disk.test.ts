// A disk without room where the server keeps things: refusals with a reason, nothing half stored, and all is well once there
// is room again. Needs root, to make small disks.

import { afterAll, describe, expect, test } from "bun:test";
import { readdirSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { changeKeyFile, newKey, newKeyId } from "../../src/access/key-file.ts";
import { keyDigest } from "../../src/core/account.ts";
import { SERVER } from "../../src/core/caller.ts";
import { ImageFolder } from "../../src/images/folder.ts";
import { newFolder, runBinary, startServer, TINY_FILE } from "../helpers/binary.ts";
import { postChat } from "../helpers/chat-client.ts";
import { fakeHub } from "../helpers/fake-hub.ts";
import { errorOf, expectServes } from "../helpers/faults.ts";
import { postJson } from "../helpers/post.ts";
import { zipOf } from "../helpers/zip.ts";

const mounted: string[] = [];
afterAll(() => {
  for (const folder of mounted) Bun.spawnSync(["umount", folder]);
});

/** A disk of so many bytes. Undefined where that is not allowed. */
function smallDisk(bytes: number): string | undefined {
  const folder = newFolder();
  const { exitCode } = Bun.spawnSync(["mount", "-t", "tmpfs", "-o", `size=${bytes}`, "tmpfs", folder]);
  if (exitCode !== 0) return undefined;
  mounted.push(folder);
  return folder;
}

const MB = 1024 * 1024;

function diskOrSay(bytes: number): string {
  const folder = smallDisk(bytes);
  if (folder === undefined) throw new Error("mounting worked a moment ago");
  return folder;
}

const MAY_MOUNT = process.platform === "linux" && process.getuid?.() === 0 && smallDisk(MB) !== undefined;
if (!MAY_MOUNT) console.log("skipped: tests with a full disk need root, to mount small ones");

function form(
  name: string,
  bytes: Uint8Array<ArrayBuffer>,
  fields: Readonly<Record<string, string>>,
): FormData {
  const data = new FormData();
  for (const [field, value] of Object.entries(fields)) data.set(field, value);
  data.set(name, new File([bytes], "big.bin"));
  return data;
}

/** Fills a disk but for so many bytes. The result makes room again. */
function fillUp(disk: string, leave = 0): () => void {
  const file = join(disk, "filler");
  writeFileSync(file, "");
  try {
    for (;;) writeFileSync(file, Buffer.alloc(65_536), { flag: "a" });
  } catch {
    // full, as wanted
  }
  if (leave > 0) truncateSync(file, Math.max(0, statSync(file).size - leave));
  return () => rmSync(file);
}

const noise = (bytes: number) => crypto.getRandomValues(new Uint8Array(65_536)).slice(0, bytes);
const large = (bytes: number) =>
  new Uint8Array(Buffer.concat(Array.from({ length: bytes / 65_536 }, () => noise(65_536))));

describe.skipIf(!MAY_MOUNT)("a full disk", () => {
  test("under the cache: the start fails with a reason", async () => {
    const { exit, err } = await runBinary(["serve", "--host", "127.0.0.1", "--port", "0"], {
      cache: diskOrSay(4 * MB),
    });
    expect(exit).toBe(1);
    expect(err).toMatch(/no space|disk|ENOSPC/i);
  });

  test("under the copies of the KV cache: the start fails with a reason, and works with room", async () => {
    const disk = diskOrSay(MB);
    const makeRoom = fillUp(disk);
    const folder = join(disk, "kv");
    const words = ["--cache-disk", folder];
    const { exit, err } = await runBinary(["serve", "--host", "127.0.0.1", "--port", "0", ...words]);
    expect([exit, err]).toEqual([1, expect.stringMatching(/--cache-disk cannot be used: .*no space/)]);
    makeRoom();
    await expectServes(await startServer(words));
    expect(readdirSync(folder)).toContain("secret");
  });

  test("under the temporary folder: a start with tools fails with a reason that names it", async () => {
    const disk = diskOrSay(MB);
    fillUp(disk);
    const words = ["serve", "--host", "127.0.0.1", "--port", "0", "--enable-shell"];
    const { exit, err } = await runBinary(words, { env: { TMPDIR: disk } });
    expect([exit, err]).toEqual([1, expect.stringContaining(`${disk} is full`)]);
  });

  test("under the file of keys: the reason names the file and the cure, and the keys stay", async () => {
    const disk = diskOrSay(MB);
    const file = join(disk, "keys.json");
    await changeKeyFile(file, () => [[], undefined]);
    const kept = readFileSync(file, "utf8");
    fillUp(disk);
    const made = changeKeyFile(file, () => [
      [{ id: newKeyId(), name: "a".repeat(99_999), digest: keyDigest(newKey()), created: "now" }],
      undefined,
    ]);
    expect(made).rejects.toThrow(/keys\.json cannot be written \(ENOSPC.*free space on its disk/);
    await made.catch(() => undefined);
    expect([readdirSync(disk).toSorted(), readFileSync(file, "utf8")]).toEqual([
      ["filler", "keys.json"],
      kept,
    ]);
  });

  test("under a quantized file, which may only be read: the reason names the folder", async () => {
    const disk = diskOrSay(MB);
    Bun.spawnSync(["mount", "-o", "remount,ro", disk]);
    const { exit, err } = await runBinary([
      "quantize",
      TINY_FILE,
      "Q2_K",
      "--output",
      join(disk, "small.gguf"),
    ]);
    expect(exit).toBe(1);
    expect(err).toContain(`${disk} cannot be written to (EROFS: read-only file system`);
  });

  test("under the state: files are refused, nothing half is kept, and stored responses say so", async () => {
    const disk = diskOrSay(5 * MB); // one of them is kept for deletions
    const server = await startServer(["--state", `sqlite:${join(disk, "state.db")}`]);
    await expectServes(server);
    const filler = join(disk, "filler");
    writeFileSync(filler, large(2 * MB));
    const upload = (bytes: number) =>
      fetch(`${server.url}/v1/files`, {
        method: "POST",
        body: form("file", large(bytes), { purpose: "user_data" }),
      });
    const refused = await upload(8 * MB);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "storage_unavailable"]);
    const list = async () => (await (await fetch(`${server.url}/v1/files`)).json()).length;
    expect(await list()).toBe(0);
    const small: { readonly id: string } = await (await upload(65_536)).json();
    // Fill it to the brim: what is small does not fit either.
    writeFileSync(join(disk, "rest"), Buffer.alloc(0));
    try {
      for (let i = 0; i < 64; i++) writeFileSync(join(disk, "rest"), large(MB / 4), { flag: "a" });
    } catch {
      // full, as wanted
    }
    const stored = await postJson(`${server.url}/v1/responses`, { input: "Hello", max_output_tokens: 4 });
    if (stored.status === 200) await stored.body?.cancel();
    else expect([stored.status, (await errorOf(stored)).code]).toEqual([503, "storage_unavailable"]);
    await expectServes(server);
    // What is full can be freed.
    expect((await upload(65_536)).status).toBe(503);
    const deleted = await fetch(`${server.url}/v1/files/${small.id}`, { method: "DELETE" });
    expect([deleted.status, await list()]).toEqual([200, 0]);
    rmSync(join(disk, "rest"));
    rmSync(filler);
    const accepted = await upload(MB);
    expect(accepted.status).toBe(200);
    const { id } = await accepted.json();
    expect((await (await fetch(`${server.url}/v1/files/${id}/content`)).arrayBuffer()).byteLength).toBe(MB);
    expect(server.stderr()).not.toContain("internal_error");
  });

  test("under the skills: an upload is refused, and what is there stays", async () => {
    const disk = diskOrSay(2 * MB);
    const server = await startServer(["--enable-shell", "--skills-dir", disk]);
    const skill = (name: string, bytes: number) => {
      const text = `---\nname: ${name}\ndescription: A skill.\n---\nHello`;
      const zip = zipOf([
        { name: `${name}/SKILL.md`, content: text },
        { name: `${name}/data.bin`, content: large(bytes) },
      ]);
      return fetch(`${server.url}/v1/skills`, {
        method: "POST",
        body: form("files", new Uint8Array(zip), {}),
      });
    };
    expect((await skill("small", 65_536)).status).toBe(200);
    const refused = await skill("large", 4 * MB);
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "storage_unavailable"]);
    const { data } = await (await fetch(`${server.url}/v1/skills`)).json();
    expect(data.map(({ name }: { name: string }) => name)).toEqual(["small"]);
    expect((await skill("other", 65_536)).status).toBe(200); // nothing of the refused one takes up room
    await expectServes(server);
  });

  test("under sessions: a turn that cannot be stored is answered, and the session stays as it was", async () => {
    const disk = diskOrSay(4 * MB);
    const server = await startServer(["--state", `sqlite:${join(disk, "state.db")}`]);
    const turn = (content: string) =>
      postChat(server.url, {
        messages: [{ role: "user", content }],
        session_id: "kept",
        max_tokens: 8,
      });
    expect((await turn("Hello")).status).toBe(200);
    const session = async () => (await fetch(`${server.url}/v1/sessions/kept`)).json();
    const before = await session();
    const release = fillUp(disk);
    expect((await turn("x".repeat(1000))).status).toBe(200);
    await server.says("the session of an answer was not stored: ");
    expect(await session()).toEqual(before);
    release();
    expect((await turn("Hello again")).status).toBe(200);
    expect((await session()).messages.length).toBeGreaterThan(before.messages.length);
    expect(server.stderr()).not.toContain("internal_error");
  });

  test("under the hub's cache: a pull fails with a reason, leaves no half model, and works with room", async () => {
    const disk = diskOrSay(12 * MB);
    const hub = fakeHub({ "acme/tiny-GGUF": { files: { "tiny-Q8_0.gguf": readFileSync(TINY_FILE) } } });
    const env = { HF_ENDPOINT: hub.url, HF_HOME: disk };
    const release = fillUp(disk, 2 * MB);
    const failed = await runBinary(["pull", "acme/tiny-GGUF"], { env });
    expect([failed.exit, failed.err]).toEqual([1, expect.stringContaining("Free disk space")]);
    const offline = await runBinary(["serve", "-m", "acme/tiny-GGUF", "--port", "0"], {
      env: { ...env, HF_HUB_OFFLINE: "1" },
    });
    expect(offline.exit).toBe(1);
    release();
    expect((await runBinary(["pull", "acme/tiny-GGUF"], { env })).exit).toBe(0);
  });

  test("under converted adapters: loading one is refused, and works with room", async () => {
    const cache = diskOrSay(200 * MB);
    const root = join(import.meta.dir, "../fixtures/lora");
    const env = { SVC_ALLOW_RUNTIME_LORA_UPDATING: "yes", SVC_LORA_ADAPTER_ROOT: root };
    const server = await startServer(["--enable-lora"], { cache, env });
    const load = () =>
      postJson(`${server.url}/v1/load_lora_adapter`, { lora_name: "red", lora_path: join(root, "red") });
    await expectServes(server);
    const release = fillUp(cache);
    const refused = await load();
    expect([refused.status, (await errorOf(refused)).code]).toEqual([503, "adapter_storage_unavailable"]);
    expect(readdirSync(join(cache, "svc/adapters"))).toEqual([]);
    await expectServes(server);
    release();
    expect((await load()).status).toBe(200);
    expect(server.stderr()).not.toContain("internal_error");
  });

  test("under images: one that cannot be stored is an error, and is neither kept nor served in part", async () => {
    const disk = diskOrSay(MB);
    const images = new ImageFolder({ folder: disk });
    const png = noise(65_536);
    const { name } = await images.save(png, SERVER);
    const release = fillUp(disk, 32_768);
    expect(images.save(png, SERVER)).rejects.toMatchObject({ code: "storage_unavailable" });
    await Bun.sleep(0);
    expect(readdirSync(disk).filter((file) => file.startsWith("image-"))).toEqual([name]);
    release();
    expect(images.find((await images.save(png, SERVER)).name)?.size).toBe(65_536);
  });
});
