// Broken forms: whatever arrives, the answer is a file or our error object, and nothing waits for ever.

import { expect, test } from "bun:test";
import fc from "fast-check";
import { testApp } from "../helpers/app.ts";
import { within } from "../helpers/until.ts";

const RUNS = 3000;

const VALID = new TextEncoder().encode(
  [
    "--bound",
    'content-disposition: form-data; name="purpose"',
    "",
    "user_data",
    "--bound",
    'content-disposition: form-data; name="file"; filename="a.txt"',
    "content-type: text/plain; charset=utf-8",
    "",
    "hello\r\n--boun\r\n-",
    "--bound--",
    "",
  ].join("\r\n"),
);

/** What a fuzzer puts where something else was. */
const piece = fc.oneof(
  fc.uint8Array({ maxLength: 20 }),
  fc
    .constantFrom(
      "\r\n",
      "\r\n\r\n",
      "--bound",
      "\r\n--bound\r\n",
      "--bound--",
      "content-disposition: form-data; name=",
      "filename*=utf-8''..%2F..%2Fx",
      'filename="../../etc/x"',
      "content-transfer-encoding: base64\r\n",
      "content-type: multipart/mixed; boundary=y\r\n",
      "x".repeat(20_000),
      "a: b\r\n".repeat(100),
      "\0",
    )
    .map((text) => new TextEncoder().encode(text)),
);

const edit = fc.record({ at: fc.nat(VALID.length), drop: fc.nat(40), piece });

const form = fc.array(edit, { minLength: 1, maxLength: 4 }).map((edits) => {
  let bytes: Uint8Array = VALID;
  for (const { at, drop, piece: inserted } of edits) {
    bytes = Buffer.concat([bytes.subarray(0, at), inserted, bytes.subarray(at + drop)]);
  }
  return bytes;
});

const type = fc.constantFrom(
  "multipart/form-data; boundary=bound",
  "multipart/form-data; boundary=bound",
  "multipart/form-data; boundary=bound",
  'multipart/form-data; boundary="bound"',
  "multipart/form-data; boundary=",
  "multipart/form-data; boundary=\r",
  `multipart/form-data; boundary=${"b".repeat(5000)}`,
  "multipart/form-data; boundary=bound; charset=utf-16",
);

/** The body in chunks of a few bytes, as a slow network brings it. */
function chunked(bytes: Uint8Array, size: number): ReadableStream<Uint8Array> {
  let at = 0;
  return new ReadableStream({
    pull(controller) {
      if (at >= bytes.length) return controller.close();
      controller.enqueue(bytes.slice(at, (at += size)));
    },
  });
}

test(`${RUNS} forms`, async () => {
  const app = testApp();
  const statuses = new Map<number, number>();
  await fc.assert(
    fc.asyncProperty(form, type, fc.integer({ min: 1, max: 400 }), async (bytes, contentType, size) => {
      const request = new Request("http://localhost/v1/files", {
        method: "POST",
        headers: { "content-type": contentType.replaceAll("\r", "") },
        body: chunked(bytes, size),
      });
      const response = await within(5000, "the form is answered", app.app.handle(request));
      const body = (await response.json()) as { object?: string; error?: { code: string } };
      statuses.set(response.status, (statuses.get(response.status) ?? 0) + 1);
      if (response.status === 200) expect(body.object).toBe("file");
      else expect([response.status, body.error?.code]).toEqual([400, "invalid_file_upload"]);
    }),
    { numRuns: RUNS },
  );
  expect(app.logged).toEqual([]); // nothing was a bug of ours
  expect([...statuses.keys()].toSorted((a, b) => a - b)).toEqual([200, 400]);
}, 60_000);
