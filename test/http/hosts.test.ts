// Under which host names a server without keys answers.

import { expect, test } from "bun:test";
import { testApp } from "../helpers/app.ts";

const POLICY = { allowed: ["svc.example.org", "*.team.example"], own: ["box.office.example"] };
const guarded = testApp(undefined, { hostPolicy: POLICY });
const statusAt = async (host: string, path = "/v1/models"): Promise<number> =>
  (await guarded.request(path, { headers: { host, "x-forwarded-host": "localhost" } })).status;

test.each([
  "localhost:1234",
  "app.localhost",
  "127.0.0.1:1234",
  "8.8.8.8",
  "[::1]:1234",
  "[fd00::5]",
  "svc",
  "svc:80",
  "nas.local",
  "nas.lan:1234",
  "nas.home.arpa",
  "host.docker.internal:1234",
  "svc.default.svc.cluster.local",
  "svc.example.org",
  "SVC.Example.org.:1234",
  "a.b.team.example",
  "box.office.example",
])("%s is answered", async (host) => expect(await statusAt(host)).toBe(200));

test.each([
  "evil.example",
  "evil.example:1234",
  "localhost.evil.example",
  "127.0.0.1.evil.example",
  "127.0.0.1.nip.io:1234",
  "svc.example.org.evil.example",
  "team.example",
  "notlocal.xlocal",
])("%s is refused", async (host) => {
  const response = await guarded.request("/v1/models", { headers: { host } });
  expect(response.status).toBe(421);
  const { error } = await response.json();
  expect(error).toMatchObject({ code: "host_not_allowed", type: "permission_error" });
  expect(error.message).toContain("--allowed-hosts");
});

test("probes are answered under any name, and programs without one everywhere", async () => {
  for (const path of ["/", "/health", "/ready"]) expect(await statusAt("evil.example", path)).toBe(200);
  expect((await guarded.request("/v1/models")).status).toBe(200);
});

test("the operator can open all names; without a policy all are open", async () => {
  const headers = { host: "evil.example" };
  for (const deps of [{ hostPolicy: { allowed: ["*"], own: [] } }, {}]) {
    expect((await testApp(undefined, deps).request("/v1/models", { headers })).status).toBe(200);
  }
});
