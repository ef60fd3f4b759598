// The files of deploy/monitoring ask for metrics and labels that a server has.

import { expect, test } from "bun:test";
import { join, resolve } from "node:path";
import { parse } from "yaml";
import { Metrics } from "../../src/metrics/metrics.ts";
import { describeWith } from "../helpers/programs.ts";
import { tempDir } from "../helpers/tmp.ts";

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
  metrics.watchUsage({ read: () => [], byKey: true });
  const names = [...(await metrics.text()).matchAll(/^# TYPE (\S+) (\S+)$/gm)];
  return new Set(
    names.flatMap(([, name, type]) =>
      type === "histogram" ? [`${name}_bucket`, `${name}_count`] : [`${name}`],
    ),
  );
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

/** Ready to run: those of the dashboard with what Grafana puts in place of its variables. */
const runnable = (text: string): string =>
  text.replaceAll("$__rate_interval", "5m").replaceAll("$instance", ".*");

describeWith("promtool")("promtool", () => {
  const run = async (args: readonly string[], stdin = ""): Promise<readonly [number, string]> => {
    const child = Bun.spawn(["promtool", ...args], {
      stdin: Buffer.from(stdin),
      stdout: "pipe",
      stderr: "pipe",
    });
    const [exit, out, err] = await Promise.all([
      child.exited,
      new Response(child.stdout).text(),
      new Response(child.stderr).text(),
    ]);
    return [exit, out + err];
  };

  test("takes alerts, scrape and every expression of the dashboard, and the server's text", async () => {
    const rules = (await expressions()).map(([, expr], index) => ({
      record: `x:${index}`,
      expr: runnable(expr),
    }));
    const folder = tempDir();
    const file = join(folder, "rules.yml");
    await Bun.write(file, JSON.stringify({ groups: [{ name: "all", rules }] })); // JSON is YAML
    for (const args of [
      ["check", "rules", join(FOLDER, "alerts.yml")],
      ["check", "rules", file],
    ])
      expect(await run(args)).toEqual([0, expect.stringContaining("SUCCESS")]);
    const metrics = new Metrics();
    const [exit, said] = await run(["check", "metrics"], await metrics.text());
    expect([exit === 0 || !/error|parsing/i.test(said), said]).toEqual([true, said]);
  });
});
