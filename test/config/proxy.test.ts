// Servers of this machine are never asked through a proxy of the environment.

import { expect, test } from "bun:test";
import { bypassLoopback } from "../../src/config/proxy.ts";

test.each<[Record<string, string>, string, string]>([
  [{}, "NO_PROXY", "localhost,127.0.0.1,::1,[::1],0.0.0.0"],
  [{ NO_PROXY: "corp.example, localhost" }, "NO_PROXY", "corp.example,localhost,127.0.0.1,::1,[::1],0.0.0.0"],
  [{ NO_PROXY: "a", no_proxy: "b" }, "no_proxy", "b,localhost,127.0.0.1,::1,[::1],0.0.0.0"],
])("%j", (environment, name, list) => {
  bypassLoopback(environment);
  expect(environment[name]).toBe(list);
});

test("a proxy that is set at the start gets no request to this machine", async () => {
  const direct = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("direct") });
  const proxy = Bun.serve({ port: 0, hostname: "127.0.0.1", fetch: () => new Response("proxied") });
  const code = `
    const { bypassLoopback } = await import(${JSON.stringify(require.resolve("../../src/config/proxy.ts"))});
    if (process.argv[1] === "bypass") bypassLoopback(process.env);
    process.stdout.write(await (await fetch("http://localhost:${direct.port}/")).text());`;
  const said = async (word: string): Promise<string> => {
    const env = { PATH: process.env["PATH"], HTTP_PROXY: proxy.url.href };
    const child = Bun.spawn([process.execPath, "-e", code, word], { env, stderr: "inherit" });
    return new Response(child.stdout).text();
  };
  expect(await Promise.all([said("bypass"), said("plain")])).toEqual(["direct", "proxied"]);
  await Promise.all([direct.stop(true), proxy.stop(true)]);
});
