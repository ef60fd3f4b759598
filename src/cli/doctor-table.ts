// What `svc doctor` prints.

import type { DoctorCheck, DoctorReport } from "../core/system.ts";

const MARKS: Readonly<Record<DoctorCheck["status"], string>> = { pass: "ok", warn: "WARN", fail: "FAIL" };

/** The report as a table: one line for each check, fixes below those that did not pass, and a summary. */
export function doctorTable({ checks }: DoctorReport): string {
  const nameWidth = Math.max(...checks.map(({ name }) => name.length));
  const indent = " ".repeat(nameWidth + 8);
  const lines = checks.flatMap(({ name, status, detail, fix }) => [
    `${MARKS[status].padEnd(4)}  ${name.padEnd(nameWidth)}  ${detail}`,
    ...(fix === null ? [] : [`${indent}${fix}`]),
  ]);
  const count = (wanted: DoctorCheck["status"]): number =>
    checks.filter(({ status }) => status === wanted).length;
  return [...lines, "", `${count("pass")} ok, ${count("warn")} warnings, ${count("fail")} failures`].join(
    "\n",
  );
}
