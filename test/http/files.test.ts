// /v1/files and its aliases, in process and on a port.

import { describe, expect, test } from "bun:test";
import { SERVER } from "../../src/core/caller.ts";
import { fileStore } from "../../src/files/store.ts";
import { listen } from "../../src/http/server.ts";
import { memoryState } from "../../src/state/memory.ts";
import { ownedState } from "../../src/state/owned.ts";
import { testApp } from "../helpers/app.ts";

interface Metadata {
  readonly id: string;
  readonly bytes: number;
  readonly truncated?: boolean;
}

/** A form as clients send it. */
function formOf(parts: Readonly<Record<string, string | File>>): FormData {
  const form = new FormData();
  for (const [name, part] of Object.entries(parts)) form.append(name, part);
  return form;
}

const csv = () => new File(["a,b\n1,2\n"], "table.csv", { type: "text/csv" });

function storeApp(options: Parameters<typeof fileStore>[1] = {}, clock = Date.now) {
  const files = fileStore(ownedState(memoryState(clock)), { clock, ...options });
  const app = testApp(undefined, { files });
  const upload = (parts: Readonly<Record<string, string | File>>) =>
    app.request("/v1/files", { method: "POST", body: formOf(parts) });
  const uploaded = async (file: File, purpose = "user_data") => {
    const response = await upload({ purpose, file });
    expect(response.status).toBe(200);
    return (await response.json()) as Metadata;
  };
  return { ...app, files, upload, uploaded };
}

async function refusal(response: Response): Promise<object> {
  const { error } = (await response.json()) as { error: { code: string; param?: string } };
  return { status: response.status, code: error.code, param: error.param };
}

describe("a file", () => {
  test("is told about, listed, fetched and deleted", async () => {
    const { request, uploaded } = storeApp({ clock: () => 1_700_000_000_900 });
    const file = await uploaded(csv());
    expect<object>(file).toEqual({
      id: expect.stringMatching(/^file-\w{24}$/),
      object: "file",
      bytes: 8,
      created_at: 1_700_000_000,
      filename: "table.csv",
      format: "csv",
      mime_type: "text/csv",
      purpose: "user_data",
      source: { tool: "user_upload", round: 0, turn: 0 },
    });
    expect(await (await request(`/v1/files/${file.id}`)).json()).toEqual(file);
    expect(await (await request("/v1/files")).json()).toEqual([file]);

    const content = await request(`/v1/files/${file.id}/content`);
    expect(content.status).toBe(200);
    expect(content.headers.get("content-type")).toBe("text/csv; charset=utf-8");
    expect(content.headers.get("x-content-type-options")).toBe("nosniff");
    expect(await content.text()).toBe("a,b\n1,2\n");

    const deleted = await request(`/v1/files/${file.id}`, { method: "DELETE" });
    expect(await deleted.json()).toEqual({ id: file.id, object: "file", deleted: true });
    const again = await request(`/v1/files/${file.id}`, { method: "DELETE" });
    expect(await refusal(again)).toMatchObject({ status: 404, code: "file_not_found" });
    expect(await (await request("/v1/files")).json()).toEqual([]);
  });

  test("is the same under every container's name", async () => {
    const { request, uploaded } = storeApp();
    const { id } = await uploaded(csv());
    const one = await (await request(`/v1/containers/cntr_1/files/${id}`)).json();
    expect(one).toMatchObject({
      id,
      object: "container.file",
      container_id: "cntr_1",
      filename: "table.csv",
    });
    expect(one).not.toHaveProperty("purpose");
    expect(await (await request("/v1/containers/cntr_1/files")).json()).toEqual([one]);
    expect(await (await request(`/v1/containers/x/files/${id}/content`)).text()).toBe("a,b\n1,2\n");
    const unknown = await request("/v1/containers/x/files/file-none");
    expect(await refusal(unknown)).toMatchObject({ status: 404, code: "file_not_found" });
  });

  test("is gone half an hour after it came", async () => {
    let nowMs = 0;
    const { request, uploaded } = storeApp({}, () => nowMs);
    const { id } = await uploaded(csv());
    nowMs = 30 * 60_000 - 1;
    expect((await request(`/v1/files/${id}/content`)).status).toBe(200);
    nowMs++;
    for (const path of [`/v1/files/${id}`, `/v1/files/${id}/content`]) {
      expect(await refusal(await request(path))).toMatchObject({ status: 404, code: "file_not_found" });
    }
    expect(await (await request("/v1/files")).json()).toEqual([]);
  });

  test("whose bytes had to go says so", async () => {
    const { request, uploaded } = storeApp({ bodyBytesMax: 10 });
    const first = await uploaded(csv());
    await uploaded(csv());
    expect(await (await request(`/v1/files/${first.id}`)).json()).toEqual({ ...first, truncated: true });
    const content = await request(`/v1/files/${first.id}/content`);
    expect(await refusal(content)).toMatchObject({ status: 410, code: "file_body_elided" });
  });

  test("that was not made says why", async () => {
    const { request, files } = storeApp();
    const source = { tool: "svc_shell", round: 1, turn: 0 };
    files(SERVER).addFailure(
      { id: "file_1", name: "plot.png", purpose: "agent_output", source },
      { code: "not_produced", message: "plot.png was not written" },
    );
    expect(await (await request("/v1/files/file_1")).json()).toMatchObject({ bytes: 0, source });
    const content = await request("/v1/files/file_1/content");
    expect(await refusal(content)).toMatchObject({ status: 422, code: "file_failed" });
  });

  test("of no bytes is a file too", async () => {
    const { request, uploaded } = storeApp();
    const { id } = await uploaded(new File([], "empty.bin"));
    const content = await request(`/v1/files/${id}/content`);
    expect([content.status, (await content.bytes()).length]).toEqual([200, 0]);
  });
});

test("the oldest files make room for new ones", async () => {
  const { request, uploaded } = storeApp({ capacity: 2 });
  const ids: string[] = [];
  for (let i = 0; i < 3; i++) ids.push((await uploaded(csv())).id);
  const listed = (await (await request("/v1/files")).json()) as readonly Metadata[];
  expect(listed.map(({ id }) => id)).toEqual(ids.slice(1));
});

describe("names in the header", () => {
  test.each([
    ["plain name.txt", "inline; filename=\"plain name.txt\"; filename*=UTF-8''plain%20name.txt"],
    [
      "Überblick (1).pdf",
      "inline; filename=\"_berblick (1).pdf\"; filename*=UTF-8''%C3%9Cberblick%20%281%29.pdf",
    ],
    ["a\\b;\r\nx: y.txt", "inline; filename=\"b;x: y.txt\"; filename*=UTF-8''b%3Bx%3A%20y.txt"],
    ["🦊.csv", "inline; filename=\"_.csv\"; filename*=UTF-8''%F0%9F%A6%8A.csv"],
  ])("%j", async (name, header) => {
    const { request, files } = storeApp();
    const form = `--x\r\ncontent-disposition: form-data; name="purpose"\r\n\r\nuser_data\r\n--x\r\ncontent-disposition: form-data; name="file"; filename="${name.replaceAll(/[\r\n]/g, "")}"\r\n\r\nhello\r\n--x--\r\n`;
    const headers = { "content-type": "multipart/form-data; boundary=x" };
    await request("/v1/files", { method: "POST", headers, body: form });
    const [file] = files(SERVER).list();
    const content = await request(`/v1/files/${file?.id}/content`);
    expect(content.headers.get("content-disposition")).toBe(header);
  });
});

describe("what kind of file it is", () => {
  test.each([
    [new File(["x"], "a.svg", { type: "image/svg+xml" }), "image/svg+xml", true],
    [new File(["x"], "notes.unknown"), "text/plain", true],
    [new File([new Uint8Array([0xff, 0xfe])], "x.unknown"), "application/octet-stream", false],
    [new File([new Uint8Array([65, 0, 66])], "x.txt", { type: "text/plain" }), "text/plain", false],
    [new File(["x"], "a.csv", { type: "nonsense" }), "text/csv", true],
  ])("%o", async (file, mimeType, isText) => {
    const { uploaded, files } = storeApp();
    expect(await uploaded(file)).toMatchObject({ mime_type: mimeType });
    expect(files(SERVER).list()[0]?.isText).toBe(isText);
  });
});

test("an upload without a purpose is user data", async () => {
  const { upload } = storeApp();
  const response = await upload({ file: csv() });
  expect([response.status, (await response.json()).purpose]).toEqual([200, "user_data"]);
});

describe("an upload is refused", () => {
  const file = csv();
  test.each<[string, Readonly<Record<string, string | File>>, string]>([
    ["with a blank purpose", { file, purpose: " " }, "purpose"],
    ["with an endless purpose", { file, purpose: "x".repeat(65) }, "purpose"],
    ["without a file", { purpose: "user_data" }, "file"],
    ["with a text for a file", { purpose: "user_data", file: "a,b" }, "file"],
    ["with a file of another name", { purpose: "user_data", upload: file }, "file"],
    ["with too long a name", { purpose: "user_data", file: new File(["x"], "x".repeat(256)) }, "file"],
  ])("%s", async (_, parts, param) => {
    const { upload, files } = storeApp();
    expect(await refusal(await upload(parts))).toEqual({ status: 400, code: "invalid_file_upload", param });
    expect(files(SERVER).list()).toEqual([]);
  });

  test.each([
    ["no form", "application/json", "{}", 415, "unsupported_media_type"],
    ["no boundary", "multipart/form-data", "--x--", 400, "invalid_file_upload"],
    ["an empty body", "multipart/form-data; boundary=x", "", 400, "invalid_file_upload"],
    ["nothing of the boundary", "multipart/form-data; boundary=x", "hello", 400, "invalid_file_upload"],
    [
      "a part that breaks off",
      "multipart/form-data; boundary=x",
      '--x\r\ncontent-disposition: form-data; name="file"; filename="a"\r\n\r\nhel',
      400,
      "invalid_file_upload",
    ],
  ])("with %s", async (_, type, body, status, code) => {
    const { request, files } = storeApp();
    const response = await request("/v1/files", { method: "POST", headers: { "content-type": type }, body });
    expect(await refusal(response)).toMatchObject({ status, code });
    expect(files(SERVER).list()).toEqual([]);
  });

  test("with two files at once", async () => {
    const { request } = storeApp();
    const form = formOf({ purpose: "user_data", file: csv() });
    form.append("file", csv());
    const response = await request("/v1/files", { method: "POST", body: form });
    expect(await refusal(response)).toMatchObject({ status: 400, param: "file" });
  });

  test("with more parts than there may be", async () => {
    const { request } = storeApp();
    const form = new FormData();
    for (let i = 0; i <= 1000; i++) form.append(`f${i}`, "x");
    const response = await request("/v1/files", { method: "POST", body: form });
    expect(await refusal(response)).toMatchObject({ status: 400, code: "invalid_file_upload" });
  });
});

describe("on a port", () => {
  /** A server of its own and what it stores. */
  function listening() {
    const { app, files } = storeApp();
    const server = listen(app, { hostname: "127.0.0.1", port: 0 });
    return { files, server, url: `http://127.0.0.1:${server.port}/v1/files` };
  }

  test("a large file comes and goes byte for byte, with its length", async () => {
    const { server, url } = listening();
    const bytes = new Uint8Array(20_000_000).map((_, i) => (i * 7 + (i >> 8)) & 0xff);
    const form = formOf({ purpose: "user_data", file: new File([bytes], "big.bin") });
    const { id } = (await (await fetch(url, { method: "POST", body: form })).json()) as Metadata;
    const content = await fetch(`${url}/${id}/content`);
    expect(content.headers.get("content-length")).toBe(String(bytes.length));
    expect(Buffer.from(await content.arrayBuffer()).equals(bytes)).toBe(true);
    const head = await fetch(`${url}/${id}/content`, { method: "HEAD" });
    expect([head.status, head.headers.get("content-length")]).toEqual([200, String(bytes.length)]);
    await server.stop(true);
  });

  test("a body beyond the limit is refused, announced or not", async () => {
    const { server, url, files } = listening();
    const tooMuch = new Uint8Array(50 * 1024 * 1024);
    const form = formOf({ purpose: "user_data", file: new File([tooMuch], "big.bin") });
    const announced = await fetch(url, { method: "POST", body: form });
    expect(await refusal(announced)).toMatchObject({ status: 413, code: "payload_too_large" });

    const whole = new Response(form);
    const headers = { "content-type": whole.headers.get("content-type") ?? "" };
    const chunked = await fetch(url, { method: "POST", body: whole.body, headers });
    expect(await refusal(chunked)).toMatchObject({ status: 413, code: "payload_too_large" });
    expect(files(SERVER).list()).toEqual([]);
    await server.stop(true);
  });
});
