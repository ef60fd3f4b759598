// Formats numbers and untrusted text for display.

import { t } from "./texts/texts.ts";

/** Powers of ten, as the command line and the hub show sizes. */
const UNITS = ["B", "KB", "MB", "GB", "TB"] as const;

export function formatBytes(bytes: number): string {
  const power = Math.max(
    0,
    Math.min(UNITS.length - 1, Math.floor(Math.log10(Math.max(1, bytes)) / 3 + 1e-9)),
  );
  const value = bytes / 1000 ** power;
  const digits = power === 0 || value >= 100 ? 0 : 1;
  return `${fixed(value, digits)} ${UNITS[power] ?? ""}`;
}

export function formatSecs(secs: number): string {
  if (secs < 0.001) return t.units.underMs;
  if (secs < 1) return `${Math.round(secs * 1000)} ms`;
  if (secs < 60) return `${fixed(secs, 1)} s`;
  const whole = Math.round(secs);
  return whole % 60 === 0 ? `${whole / 60} min` : `${Math.floor(whole / 60)} min ${whole % 60} s`;
}

/** Three significant digits below 100, else an integer: 0.123, 4.56, 78.9, 1,234. */
export function formatNumber(value: number): string {
  if (value === 0 || Math.abs(value) >= 100) return Math.round(value).toLocaleString(t.locale.numbers);
  return value.toLocaleString(t.locale.numbers, { maximumSignificantDigits: 3 });
}

/** A number of tokens: 40,960 → 40K. */
export function formatTokens(tokens: number): string {
  return tokens < 1024 ? String(tokens) : `${Math.round(tokens / 1024)}K`;
}

/** A number in thousands, millions or billions: 600M, 14.8B. */
export function formatCount(value: number): string {
  const [unit, size] = COUNT_UNITS.find(([, least]) => value >= least) ?? ["", 1];
  return `${Number((value / size).toPrecision(3))}${unit}`;
}

const COUNT_UNITS = [
  ["B", 1e9],
  ["M", 1e6],
  ["K", 1e3],
] as const;

/** A number with `digits` decimals. */
function fixed(value: number, digits: number): string {
  return value.toLocaleString(t.locale.numbers, {
    minimumFractionDigits: digits,
    maximumFractionDigits: digits,
    useGrouping: false,
  });
}
