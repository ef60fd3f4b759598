// Our OpenAPI document against the interface's: every difference is listed with its reason, and nothing else is.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { alphabetically, type ApiShape, apiShape, differences } from "../helpers/api-shape.ts";
import { noAdapters, testApp } from "../helpers/app.ts";

const ROOT = new URL("../../", import.meta.url);
const read = (path: string): string => readFileSync(new URL(path, ROOT), "utf8");

const reference = JSON.parse(read("test/fixtures/reference-shapes.json")) as ApiShape;
interface Listed {
  /** Operation, field or `–`, difference, reason. `*` matches anything; open fields of one document are not compared. */
  readonly differences: readonly (readonly [operation: string, what: string, how: string, why: string])[];
  /** Operations of the reference that are not built yet. */
  readonly notImplemented: readonly string[];
}
const listed = JSON.parse(read("test/fixtures/openapi-differences.json")) as Listed;
/** `operation | what | difference` of each row and field that it names. */
const rows = listed.differences.flatMap(([operation, what, how]) => {
  const [kind = ""] = what.split(" ", 1);
  const whats = what.includes("`") ? what.match(/`[^`]+`/g)?.map((field) => `${kind} ${field}`) : [what];
  return (whats ?? []).map((one) => `${operation} | ${one} | ${how}`);
});

function matches(row: string, difference: string): boolean {
  const pattern = row.split("*").map((part) => RegExp.escape(part));
  return new RegExp(`^${pattern.join(".*")}$`).test(difference);
}

async function actual(): Promise<readonly string[]> {
  const app = testApp(undefined, { adapters: { ...noAdapters, isMutable: true } }); // with all routes
  const ours = apiShape(await (await app.request("/api-doc/openapi.json")).json());
  return differences(reference, ours);
}

const MISSING = / \| – \| missing$/;

test("every difference has a row with a reason", async () => {
  const unexplained = (await actual()).filter(
    (one) => !MISSING.test(one) && !rows.some((row) => matches(row, one)),
  );
  expect(unexplained).toEqual([]);
});

test("every row is still true", async () => {
  const found = await actual();
  expect(rows.length).toBeGreaterThan(10);
  expect(listed.differences.filter(([, , , why]) => why === "")).toEqual([]);
  expect(rows.filter((row) => !found.some((one) => matches(row, one)))).toEqual([]);
});

test("the list of routes that are not built yet is exact", async () => {
  const missing = (await actual()).filter((one) => MISSING.test(one)).map((one) => one.replace(MISSING, ""));
  expect(missing).toEqual(listed.notImplemented.toSorted(alphabetically));
});

test("the fixture holds the whole interface", () => {
  expect(Object.keys(reference)).toHaveLength(43);
  expect(reference["POST /v1/embeddings"]?.request).toContain("input!");
});
