// The manifests in deploy/: settings that svc accepts, names that agree, probes and requests of resources everywhere. The
// schemas of Kubernetes are not here; docs/fleet.md says how they were checked.

import { describe, expect, test } from "bun:test";
import { existsSync } from "node:fs";
import { dirname, join, resolve } from "node:path";
import { parse as parseToml } from "smol-toml";
import { parse, parseAllDocuments } from "yaml";
import { isObject } from "../../src/core/json.ts";
import { runBinary } from "../helpers/binary.ts";

const DEPLOY = resolve(import.meta.dir, "../../deploy");
const KEYS = { VLLM_API_KEY: "a", SVC_API_KEYS: "b" };

type Tree = Readonly<Record<string, unknown>>;

const at = (tree: unknown, ...path: readonly string[]): unknown =>
  path.reduce((value: unknown, key) => (isObject(value) ? value[key] : undefined), tree);
const list = (value: unknown): readonly unknown[] => (Array.isArray(value) ? value : []);

async function documents(path: string): Promise<readonly Tree[]> {
  const all = parseAllDocuments(await Bun.file(path).text());
  return all.map((document): Tree => document.toJS());
}

/** Hosts of the upstreams in a settings file. */
async function hostsOf(file: string): Promise<readonly string[]> {
  const settings = parseToml(await Bun.file(join(DEPLOY, file)).text());
  const upstreams = list(settings["models"]).flatMap((model) => list(at(model, "upstreams")));
  return upstreams.map((upstream) => new URL(String(at(upstream, "url"))).hostname);
}

test.each(["svc.toml", "llm-d/svc.toml", "team/svc.toml"])("%s is valid", async (file) => {
  const { exit, out, err } = await runBinary(["config", "check", join(DEPLOY, file)], { env: KEYS });
  expect([exit, out + err]).toEqual([0, expect.not.stringContaining("problem")]);
});

describe.each(["kubernetes", "llm-d"])("deploy/%s", (folder) => {
  const root = join(DEPLOY, folder);

  test("names files that exist, and hosts that its services have", async () => {
    const [kustomization] = await documents(join(root, "kustomization.yaml"));
    const resources = list(at(kustomization, "resources")).map((file) => join(root, String(file)));
    const [settings] = list(at(list(at(kustomization, "configMapGenerator"))[0], "files"));
    const file = join(root, String(settings));
    for (const path of [...resources, file]) expect([path, existsSync(path)]).toEqual([path, true]);
    const objects = (await Promise.all(resources.map(documents))).flat();
    const names = objects.flatMap((object) => {
      const name = String(at(object, "metadata", "name"));
      if (at(object, "kind") !== "StatefulSet") return [name];
      const count = Number(at(object, "spec", "replicas"));
      return Array.from(
        { length: count },
        (_, i) => `${name}-${i}.${String(at(object, "spec", "serviceName"))}`,
      );
    });
    const hosts = await hostsOf(join(folder === "llm-d" ? folder : ".", String(settings).replace("../", "")));
    expect(hosts.length).toBeGreaterThan(0);
    for (const host of hosts) expect(names).toContain(host);
  });

  test("has probes, requests of resources and two svc", async () => {
    const [kustomization] = await documents(join(root, "kustomization.yaml"));
    const files = list(at(kustomization, "resources")).map((file) => join(root, String(file)));
    const workloads = (await Promise.all(files.map(documents)))
      .flat()
      .filter((object) => ["Deployment", "StatefulSet"].includes(String(at(object, "kind"))));
    expect(workloads.some((object) => at(object, "metadata", "name") === "svc")).toBe(true);
    for (const object of workloads) {
      expect(at(object, "spec", "replicas")).toBe(2);
      expect(at(object, "spec", "selector", "matchLabels")).toEqual(
        at(object, "spec", "template", "metadata", "labels"),
      );
      for (const container of list(at(object, "spec", "template", "spec", "containers"))) {
        expect(container).toMatchObject({
          startupProbe: { httpGet: { port: "http" } },
          livenessProbe: { httpGet: { path: "/health" } },
          readinessProbe: { httpGet: { port: "http" } },
          resources: { requests: { cpu: expect.any(String), memory: expect.any(String) } },
        });
        const mounts = list(at(container, "volumeMounts")).map((mount) => at(mount, "name"));
        const spec = at(object, "spec");
        const volumes = [
          ...list(at(spec, "template", "spec", "volumes")).map((volume) => at(volume, "name")),
          ...list(at(spec, "volumeClaimTemplates")).map((claim) => at(claim, "metadata", "name")),
        ];
        expect(volumes).toEqual(expect.arrayContaining(mounts));
      }
    }
  });
});

test("the compose file has the hosts of its settings, health checks and files that exist", async () => {
  const path = join(DEPLOY, "compose.yaml");
  const compose: unknown = parse(await Bun.file(path).text(), { merge: true });
  const services = Object.values(at(compose, "services") ?? {});
  const aliases = services.flatMap((service) => list(at(service, "networks", "default", "aliases")));
  expect(aliases).toEqual([...(await hostsOf("svc.toml"))]);
  const mounted = services.flatMap((service) => list(at(service, "volumes")).map(String));
  for (const volume of mounted.filter((one) => one.startsWith("./")))
    expect(existsSync(join(dirname(path), volume.split(":")[0] ?? ""))).toBe(true);
  for (const name of ["svc-0", "svc-1", "vllm-0", "vllm-1"])
    expect([name, at(compose, "services", name, "healthcheck", "test")]).toEqual([name, expect.any(Array)]);
});
