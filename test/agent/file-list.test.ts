// What a model is told of the files of a call: within bounds of its context, and also where they could not be stored.

import { expect, test } from "bun:test";
import type { FileObject } from "../../src/core/agent.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { Files } from "../../src/core/files.ts";
import { keepFile } from "../../src/agent/keep-file.ts";
import { modelText } from "../../src/agent/model-text.ts";
import { textFile } from "../helpers/executors.ts";

const SOURCE = { tool: "svc_shell", round: 1, turn: 0 };

function file(n: number, preview: string): FileObject {
  const known = {
    id: `file_${n}`,
    name: `f${n}.txt`,
    created_at: 0,
    purpose: "agent_output",
    source: SOURCE,
  };
  return { ...known, bytes: preview.length, preview };
}

test("previews and the list stay within the bound; the rest is counted", () => {
  const files = Array.from({ length: 64 }, (_, n) => file(n, "x".repeat(1000)));
  const text = modelText("done", [], files, { charsMax: 8000, readTool: "svc_read_file" });
  expect(text.length).toBeLessThan(8200);
  expect(text).toContain("f0.txt (1000 bytes, file_0): the whole text:\nxxx");
  expect(text).toMatch(/f\d+\.txt \(1000 bytes, file_\d+\): text; read it with svc_read_file/);
  const few = modelText("done", [], files.slice(0, 3), { charsMax: 4000 });
  expect(few.match(/the whole text/g)).toHaveLength(3);
  expect(modelText("done", [], files, { charsMax: 400 })).toMatch(
    /and \d+ more files, which the user can download$/,
  );
});

test("a model without the tool that reads files is not sent to it", () => {
  const cut = { ...file(1, "x"), bytes: 2000 };
  expect(modelText("done", [], [cut], { charsMax: 400 })).toContain(
    "(2000 bytes, file_1): the beginning:\nx",
  );
  expect(modelText("done", [], [cut], { charsMax: 60, readTool: "svc_read_file" })).toContain(
    "text; read it with svc_read_file",
  );
});

test("a file that cannot be stored at all is named in the answer", async () => {
  const full = (): never => {
    throw new ServiceError("storage_unavailable", "the disk is full");
  };
  const files: Pick<Files, "add" | "addFailure" | "object"> = {
    add: async () => full(),
    addFailure: full,
    object: async () => full(),
  };
  const place = { id: "file_1", sessionId: "s", tool: "svc_shell", round: 1, turn: 0 };
  expect(await keepFile(files as Files, textFile("big.txt", "x"), place)).toMatchObject({
    id: "file_1",
    name: "big.txt",
    bytes: 0,
    code: "storage_unavailable",
    message: "the disk is full",
  });
});
