// What the answers of a server lead to: as far out as the server itself, never nearer.

import { expect, onTestFinished, test } from "bun:test";
import { endpointFetch } from "../../src/net/endpoint-fetch.ts";
import { failure } from "../helpers/failure.ts";

const HOSTS: Readonly<Record<string, string>> = {
  "mcp.example.com": "8.8.8.8",
  "intranet.example.com": "10.1.2.3",
  "home.example.com": "127.0.0.1",
};

const resolve = async (host: string) => [{ address: HOSTS[host] ?? host, family: 4 }];

/** A server on this machine; the requests that reached it. */
function local(answer: (request: Request) => Response = () => new Response("reached")) {
  const seen: string[] = [];
  const server = Bun.serve({
    port: 0,
    hostname: "127.0.0.1",
    fetch: async (request) => {
      seen.push(`${request.method} ${new URL(request.url).pathname} ${await request.text()}`.trim());
      return answer(request);
    },
  });
  onTestFinished(() => server.stop(true));
  return { url: `http://127.0.0.1:${server.port}`, seen };
}

test.each(["https://mcp.example.com/mcp", "http://intranet.example.com/mcp"])(
  "%s leads to nothing on this machine",
  async (server) => {
    const { url, seen } = local();
    const request = endpointFetch(server, { resolve });
    const others = ["home.example.com", "0.0.0.0", "[::ffff:127.0.0.1]"].map((host) =>
      url.replace("127.0.0.1", host),
    );
    for (const address of [`${url}/token`, ...others, "http://[::1]:1/", "http://169.254.169.254/"]) {
      const sent = request(address, { method: "POST", body: new URLSearchParams({ grant_type: "x" }) });
      expect(await failure(sent)).toContain("not on the public internet");
    }
    expect(seen).toEqual([]);
  },
);

test("a redirect leads there neither, nor to a file", async () => {
  const { url, seen } = local();
  for (const location of [url, "file:///etc/passwd"]) {
    const own = async () => new Response(null, { status: 307, headers: { location } });
    const request = endpointFetch("https://mcp.example.com/mcp", { resolve, own });
    expect(await failure(request("https://mcp.example.com/mcp"))).toMatch(/public internet|http and https/);
  }
  expect(seen).toEqual([]);
});

test("a server on this machine leads to others on it, forms included", async () => {
  const { url, seen } = local();
  const request = endpointFetch("http://localhost:1/mcp");
  const answer = await request(`${url}/token`, { method: "POST", body: new URLSearchParams({ a: "1" }) });
  expect(await answer.text()).toBe("reached");
  expect(seen).toEqual(["POST /token a=1"]);
});

test("its own redirects are followed: 303 as GET, 307 with the body; endless ones are not", async () => {
  const { url, seen } = local((request) => {
    const status = Number(new URL(request.url).pathname.slice(1));
    return Number.isNaN(status) || status === 0
      ? new Response("reached")
      : new Response(null, { status, headers: { location: status === 308 ? "/308" : "/end" } });
  });
  const request = endpointFetch(url);
  for (const status of [303, 307])
    expect(await (await request(`${url}/${status}`, { method: "POST", body: "x" })).text()).toBe("reached");
  expect(await failure(request(`${url}/308`))).toContain("redirects more than");
  expect(seen.slice(0, 4)).toEqual(["POST /303 x", "GET /end", "POST /307 x", "POST /end x"]);
});
