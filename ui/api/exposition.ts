// Parser for the Prometheus text format. Pure. Supports only what the page needs: samples with labels. Comments and
// timestamps, which svc does not send, are skipped.

/** Samples by metric name. */
export type Exposition = ReadonlyMap<string, readonly Sample[]>;

export interface Sample {
  readonly labels: Readonly<Record<string, string>>;
  readonly value: number;
}

const LINE = /^(?<name>[a-zA-Z_:][\w:]*)(?:\{(?<labels>.*)\})?\s+(?<value>\S+)(?:\s+-?\d+)?$/;
const LABEL = /(?<key>[a-zA-Z_]\w*)="(?<value>(?:[^"\\]|\\.)*)"/g;
const ESCAPES: Readonly<Record<string, string>> = { "\\n": "\n", '\\"': '"', "\\\\": "\\" };

/** Parses a text; lines that are not samples are skipped. */
export function parseExposition(text: string): Exposition {
  const samples = new Map<string, Sample[]>();
  for (const line of text.split("\n")) {
    const { name, labels = "", value } = LINE.exec(line.trim())?.groups ?? {};
    if (name === undefined || value === undefined) continue;
    const list = samples.get(name) ?? [];
    if (list.length === 0) samples.set(name, list);
    list.push({ labels: labelsOf(labels), value: numberOf(value) });
  }
  return samples;
}

/** Sum of all samples of a metric; undefined if it has no samples. */
export function total(exposition: Exposition, name: string): number | undefined {
  return exposition.get(name)?.reduce((sum, { value }) => sum + value, 0);
}

/** Cumulative counts of a histogram by upper bound, over all its labels; bounds ascend. */
export function buckets(
  exposition: Exposition,
  name: string,
): readonly (readonly [bound: number, count: number])[] {
  const counts = new Map<number, number>();
  for (const { labels, value } of exposition.get(`${name}_bucket`) ?? []) {
    const bound = numberOf(labels["le"] ?? "+Inf");
    counts.set(bound, (counts.get(bound) ?? 0) + value);
  }
  return [...counts].toSorted(([a], [b]) => a - b);
}

/**
 * Quantile of the observations between two scrapes, with linear interpolation within a bucket. Undefined if there were
 * no observations.
 */
export function quantile(
  before: readonly (readonly [number, number])[],
  after: readonly (readonly [number, number])[],
  share: number,
): number | undefined {
  const earlier = new Map(before);
  const added = after.map(([bound, count]) => [bound, count - (earlier.get(bound) ?? 0)] as const);
  const rank = (added.at(-1)?.[1] ?? 0) * share;
  if (rank <= 0) return undefined;
  let lowerBound = 0;
  let lowerCount = 0;
  for (const [bound, count] of added) {
    if (count >= rank) {
      if (bound === Infinity) return lowerBound;
      return lowerBound + ((bound - lowerBound) * (rank - lowerCount)) / (count - lowerCount);
    }
    [lowerBound, lowerCount] = [bound, count];
  }
  return undefined;
}

function labelsOf(text: string): Readonly<Record<string, string>> {
  const labels: Record<string, string> = {};
  for (const { groups } of text.matchAll(LABEL)) {
    if (groups === undefined) continue;
    labels[groups["key"] ?? ""] = (groups["value"] ?? "").replace(
      /\\./g,
      (escape) => ESCAPES[escape] ?? escape,
    );
  }
  return labels;
}

function numberOf(text: string): number {
  if (text === "+Inf") return Infinity;
  return text === "-Inf" ? -Infinity : Number(text);
}
