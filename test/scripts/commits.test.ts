// The form of commit subjects.

import { expect, test } from "bun:test";
import { subjectProblem } from "../../scripts/commits.ts";

test.each([
  "worker: coalesce text deltas of steps under 1 ms",
  "docs/decisions: mark superseded records",
  'Revert "worker: coalesce text deltas"',
  "fixup! worker: coalesce text deltas",
  `core: ${"x".repeat(66)}`,
])("%s is fine", (subject) => {
  expect(subjectProblem(subject)).toBeUndefined();
});

test.each([
  ["Coalesce text deltas", "area: imperative"],
  ["worker, engine: coalesce text deltas", "area: imperative"],
  ["Worker: coalesce text deltas", "area: imperative"],
  ["worker:coalesce text deltas", "area: imperative"],
  ["", "area: imperative"],
  ["worker: coalesce text deltas.", "full stop"],
  [`core: ${"x".repeat(67)}`, "73 characters"],
])("%s is rejected", (subject, problem) => {
  expect(subjectProblem(subject)).toContain(problem);
});
