// Writes ffi/hooks/jinja_letter_tables.h: properties of letters for the template engine, from this runtime's Unicode tables.
//
//   bun scripts/letters.ts

const LAST = 0x10ffff;

/** Runs [first, last] of the code points that match, as a flat list. */
function runs(is: (code: number) => boolean): number[] {
  const out: number[] = [];
  let open = -1;
  for (let code = 0; code <= LAST + 1; code++) {
    const yes = code <= LAST && !(code >= 0xd800 && code <= 0xdfff) && is(code);
    if (yes && open < 0) open = code;
    if (!yes && open >= 0) {
      out.push(open, code - 1);
      open = -1;
    }
  }
  return out;
}

/** Runs [first, last, step, difference] of letters with another letter as their case; and letters that become several. */
function cases(to: (letter: string) => string): { rows: number[]; long: [number, string][] } {
  const rows: number[] = [];
  const long: [number, string][] = [];
  for (let code = 0; code <= LAST; code++) {
    if (code >= 0xd800 && code <= 0xdfff) continue;
    const letter = String.fromCodePoint(code);
    const other = to(letter);
    if (other === letter) continue;
    if (Array.from(other).length > 1) {
      long.push([code, other]);
      continue;
    }
    const difference = (other.codePointAt(0) ?? 0) - code;
    const at = rows.length - 4;
    const last = rows[at + 1] ?? 0;
    const step = rows[at + 2] ?? 0;
    const gap = code - last;
    if (at >= 0 && rows[at + 3] === difference && gap <= 2 && (step === 0 || step === gap)) {
      rows[at + 1] = code;
      rows[at + 2] = gap;
    } else {
      rows.push(code, code, 0, difference);
    }
  }
  return { rows: rows.map((n, i) => (i % 4 === 2 && n === 0 ? 1 : n)), long };
}

function table(type: string, name: string, numbers: readonly number[]): string {
  const lines: string[] = [];
  let line = "   ";
  for (const n of numbers) {
    if (line.length + String(n).length + 2 > 138) {
      lines.push(line);
      line = "   ";
    }
    line += ` ${n},`;
  }
  return `constexpr ${type} ${name}[] = {\n${[...lines, line].join("\n")}\n};\n`;
}

function longTable(name: string, rows: readonly [number, string][]): string {
  const numbers = rows.flatMap(([code, other]) => {
    const codes = Array.from(other, (c) => c.codePointAt(0) ?? 0);
    return [code, ...codes, ...Array.from({ length: 3 - codes.length }, () => 0)];
  });
  return table("uint32_t", name, numbers);
}

const matching = (pattern: RegExp) => (code: number) => pattern.test(String.fromCodePoint(code));
const upper = cases((letter) => letter.toUpperCase());
const lower = cases((letter) => letter.toLowerCase());
const text = `// Properties of letters, from Unicode: made by scripts/letters.ts.
#pragma once

#include <cstdint>

namespace svc::j2 {

// [first, last] of each run.
${table("uint32_t", "alpha_runs", runs(matching(/\p{L}/u)))}
${table("uint32_t", "numeric_runs", runs(matching(/\p{N}/u)))}
${table("uint32_t", "decimal_runs", runs(matching(/\p{Nd}/u)))}
${table("uint32_t", "lowercase_runs", runs(matching(/\p{Lowercase}/u)))}
${table("uint32_t", "uppercase_runs", runs(matching(/\p{Uppercase}/u)))}
${table("uint32_t", "unprintable_runs", runs(matching(/[\p{C}\p{Z}]/u)))}
// [first, last, step, difference] of each run.
${table("int32_t", "upper_cases", upper.rows)}
${table("int32_t", "lower_cases", lower.rows)}
// A letter and the up to three letters that it becomes.
${longTable("long_upper_cases", upper.long)}
${longTable("long_lower_cases", lower.long)}
}  // namespace svc::j2
`;
await Bun.write(new URL("../ffi/hooks/jinja_letter_tables.h", import.meta.url).pathname, text);
