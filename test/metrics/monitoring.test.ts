// The files of deploy/monitoring ask for metrics and labels that a server has.

import { expect, test } from "bun:test";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { Metrics } from "../../src/metrics/metrics.ts";

const FOLDER = resolve(import.meta.dir, "../../deploy/monitoring");
const read = (name: string): Promise<string> => Bun.file(join(FOLDER, name)).text();

interface Panel {
  readonly title: string;
  readonly targets: readonly { readonly expr: string }[];
}

interface Alert {
  readonly alert: string;
  readonly expr: string;
}

/** Names of metrics of a server with everything. */
async function metricNames(): Promise<ReadonlySet<string>> {
  const metrics = new Metrics();
  metrics.watchModels(() => []);
  metrics.watchRequantizations(() => []);
  metrics.watchUpstreams(() => []);
  metrics.watchDroppedConnections(() => 0);
  const names = [...(await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(names.map(([, name, type]) => (type === "histogram" ? `${name}_bucket` : `${name}`)));
}

/** Metrics that an expression names; `job` and `instance` are labels of Prometheus itself. */
function namesIn(expression: string): readonly string[] {
  return expression.match(/\b(?:svc|http|process)_\w+/g) ?? [];
}

async function expressions(): Promise<readonly (readonly [string, string])[]> {
  const { panels } = JSON.parse(await read("grafana.json")) as { readonly panels: readonly Panel[] };
  const { groups } = parse(await read("alerts.yml")) as {
    readonly groups: readonly { readonly rules: readonly Alert[] }[];
  };
  return [
    ...panels.flatMap(({ title, targets }) => targets.map(({ expr }) => [title, expr] as const)),
    ...groups.flatMap(({ rules }) => rules.map(({ alert, expr }) => [alert, expr] as const)),
  ];
}

test("dashboard and alerts name metrics that exist", async () => {
  const known = await metricNames();
  const used = (await expressions()).flatMap(([place, text]) => namesIn(text).map((name) => [place, name]));
  expect(used.length).toBeGreaterThan(30);
  expect(used.filter(([, name]) => !known.has(name ?? ""))).toEqual([]);
});

test("counters are read as rates or increases, histograms as quantiles", async () => {
  for (const [place, text] of await expressions()) {
    const bare = text.match(/(?<!(?:rate|increase)\()\b(?:svc|http|process)_\w+_(?:total|bucket)\b/g) ?? [];
    expect([place, bare]).toEqual([place, []]);
  }
});

test("the scrape reads the alerts, under the job that they name, with a key", async () => {
  const scrape: unknown = parse(await read("prometheus.yml"));
  expect(scrape).toMatchObject({
    rule_files: ["alerts.yml"],
    scrape_configs: [{ job_name: "svc", authorization: { credentials_file: expect.any(String) } }],
  });
});
