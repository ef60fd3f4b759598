// A svc in front of another one: what the front shows of it, and what becomes of requests when it goes.

import { expect, onTestFinished, test } from "bun:test";
import { join } from "node:path";
import { decode } from "fast-png";
import type { ImageGenerationResponse } from "../../src/dialects/images/schema.ts";
import { launchServer, newFolder, runBinary, startServer } from "../helpers/binary.ts";
import { ask, CAPITAL, complete } from "../helpers/chat-client.ts";
import { postJson } from "../helpers/post.ts";
import { tinyImageModel } from "../helpers/tiny-images.ts";
import { tinyBert } from "../helpers/tiny-models.ts";

test("shows upstreams, passes ids on, falls back to a model of its own", async () => {
  const back = await launchServer([], { env: {} });
  onTestFinished(async () => void (await back.stop()));
  await complete(back.url, ask(CAPITAL)); // its card states the context once it is loaded
  const file = join(newFolder(), "front.toml");
  await Bun.write(
    file,
    `[[models]]
model_id = "big"
kind = "upstream"
fallback = ["small"]
[models.routing]
retries = 0
[[models.upstreams]]
url = "${back.url}/v1"
model = "svc-tiny"
key = "env:BACK_KEY"
[[models]]
model_id = "svc-tiny"
alias = "small"
`,
  );
  const env = { BACK_KEY: "sk-never-shown" };
  const front = await startServer([file], { env });
  const json = async (path: string): Promise<unknown> => (await fetch(front.url + path)).json();
  expect(await complete(front.url, ask(CAPITAL))).toMatchObject({ model: "big" });
  const traceparent = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";
  const answer = await fetch(`${front.url}/v1/chat/completions`, {
    method: "POST",
    headers: { "content-type": "application/json", "x-request-id": "hop-1", traceparent },
    body: JSON.stringify(ask(CAPITAL)),
  });
  await answer.text();
  await back.says("id=hop-1");

  expect(await json("/v1/system/info")).toMatchObject({
    models: [
      {
        id: "big",
        status: "loaded",
        context_tokens: 4096,
        upstreams: [{ engine: "svc", model: "svc-tiny", status: "healthy", problem: null }],
      },
      { id: "small" },
      { id: "svc-voice" },
    ],
  });
  const metrics = await (await fetch(`${front.url}/metrics`)).text();
  expect(metrics).toMatch(/svc_upstream_requests_total\{model="big",upstream="[^"]+",outcome="answered"\} 2/);
  expect(metrics).toMatch(/svc_upstream_first_token_seconds_count\{model="big",upstream="[^"]+"\} 2/);

  const unload = await fetch(`${front.url}/v1/models/unload`, {
    method: "POST",
    headers: { "content-type": "application/json" },
    body: '{"model_id":"big"}',
  });
  expect([unload.status, await unload.json()]).toMatchObject([
    400,
    { error: { code: "unsupported_capability" } },
  ]);

  const doctor = await runBinary(["doctor", file], { env });
  expect(doctor.out).toMatch(/ok +model big on \S+ +svc, context 4096 tokens/);
  await back.stop();
  expect(await complete(front.url, ask(CAPITAL))).toMatchObject({ model: "small" });
  for (const background of [false, true])
    expect(await respond(front.url, { background })).toMatchObject({ status: "completed", model: "small" });
  const failed = await runBinary(["doctor", file], { env });
  expect(failed.out).toMatch(/FAIL +model big on \S+ +no connection \(ECONNREFUSED\)/);
  const shown = await runBinary(["config", "show", file], { env });
  for (const text of [
    front.stderr(),
    doctor.out,
    failed.out,
    shown.out,
    await (await fetch(`${front.url}/v1/system/info`)).text(),
  ])
    expect(text).not.toContain("sk-never-shown");
}, 60_000);

/** The finished answer of the Responses dialect by model "big". */
async function respond(
  url: string,
  fields: object,
): Promise<{ readonly id: string; readonly status: string }> {
  const created = await postJson(`${url}/v1/responses`, { model: "big", input: CAPITAL.content, ...fields });
  let answer = (await created.json()) as { readonly id: string; readonly status: string };
  while (answer.status === "queued" || answer.status === "in_progress") {
    await Bun.sleep(20);
    answer = (await (await fetch(`${url}/v1/responses/${answer.id}`)).json()) as typeof answer;
  }
  return answer;
}

test("passes images, speech, vectors and scores on", async () => {
  const { diffusion, llm, vae } = tinyImageModel();
  const folder = newFolder();
  const parts = `{ diffusion_model = "${diffusion}", llm = "${llm}", vae = "${vae}" }`;
  await Bun.write(
    join(folder, "back.toml"),
    `[[models]]
model_id = "tiny-image"
kind = "image"
format = ${parts}
image = { steps = 1, guidance = 1 }
[[models]]
model_id = "${tinyBert("rank")}"
alias = "ranks"
[[models]]
model_id = "${tinyBert("mean")}"
alias = "embeds"
`,
  );
  const back = await startServer([join(folder, "back.toml")]);
  const entry = (id: string, kind: string) => `[[models]]
model_id = "${id}"
kind = "upstream"
serves = "${kind}"
[[models.upstreams]]
url = "${back.url}/v1"
`;
  await Bun.write(
    join(folder, "front.toml"),
    ["ranks", "embeds"].map((id) => entry(id, "text")).join("") +
      entry("tiny-image", "image") +
      entry("svc-voice", "speech"),
  );
  const front = await startServer([join(folder, "front.toml")]);
  const post = (path: string, body: object, url = front.url): Promise<Response> => postJson(url + path, body);
  for (const [path, body, part] of [
    ["/v1/rerank", { model: "ranks", query: "a cat", documents: ["b", "c d", "cats"] }, "results"],
    ["/v1/embeddings", { model: "embeds", input: ["a cat", "a dog"] }, "data"],
  ] as const) {
    const [through, direct] = await Promise.all(
      [front.url, back.url].map(async (url) => {
        const answer: unknown = await (await post(path, body, url)).json();
        return new Map(Object.entries(answer ?? {})).get(part);
      }),
    );
    expect([path, through]).toEqual([path, direct]);
    expect(through).toBeArray();
  }
  const asked = { prompt: "a cat", width: 64, height: 48 };
  const inline = await post("/v1/images/generations", { ...asked, response_format: "b64_json" });
  const { data } = (await inline.json()) as ImageGenerationResponse;
  const png = Buffer.from((data[0]?.b64_json ?? "").replace("data:image/png;base64,", ""), "base64");
  expect(decode(png)).toMatchObject({ width: 64, height: 48 });
  const filed = (await (await post("/v1/images/generations", asked)).json()) as ImageGenerationResponse;
  const file = await fetch(front.url + (filed.data[0]?.content_url ?? ""));
  expect(decode(await file.bytes())).toMatchObject({ width: 64, height: 48 });

  const spoken = await post("/v1/audio/speech", { input: "One, two, three.", voice: "any" });
  expect(spoken.headers.get("content-type")).toBe("audio/wav");
  expect((await spoken.bytes()).byteLength).toBeGreaterThan(16_000);
}, 60_000);

test("a key that is not set stops the start with its name", async () => {
  const file = join(newFolder(), "front.toml");
  await Bun.write(
    file,
    '[[models]]\nmodel_id = "big"\nkind = "upstream"\n[[models.upstreams]]\nurl = "http://127.0.0.1:9/v1"\nkey = "env:NO_SUCH_KEY"\n',
  );
  const { exit, err } = await runBinary(["serve", "--port", "0", file]);
  expect(err).toContain("svc: big: the key that env:NO_SUCH_KEY names is not set. Set it, or omit key.");
  expect(exit).toBe(1);
});
