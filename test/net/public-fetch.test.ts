import { afterAll, describe, expect, test } from "bun:test";
import { FetchError, publicFetch, type PublicFetch, publicRequest } from "../../src/net/public-fetch.ts";
import { addressReach, type Interfaces, isPublicAddress } from "../../src/net/address.ts";

describe("not of the public internet", () => {
  const OWN = `
    127.0.0.1 127.9.9.9 10.1.2.3 172.16.0.1 192.168.0.1 169.254.169.254 100.64.0.1 0.0.0.0 224.0.0.1 10.3 localhost
    255.255.255.255 240.0.0.1 192.0.2.1 198.18.0.1 192.88.99.1 8.8.8.8.8 :: ::1 fe80::1 fe80::1%eth0 fc00::1 fd12::1
    fec0::1 ff02::1 2001:db8::1 ::ffff:10.0.0.1 ::ffff:8.8.8.8 ::10.0.0.1 64:ff9b::a00:1 64:ff9b:1::1 2002:a00:1::
    2001:0:1:: 100::1 4000::1 3fff::1 5f00::1`;
  test.each(OWN.trim().split(/\s+/))("%s", (address) => expect(isPublicAddress(address)).toBe(false));

  test.each(["8.8.8.8", "1.1.1.1", "2606:4700::1111", "2a00:1450:4001::1"])("but %s is", (address) =>
    expect(isPublicAddress(address)).toBe(true),
  );
});

test("public addresses of this machine and its networks are not of the public internet", () => {
  const interfaces: Interfaces = {
    eth0: [
      { address: "93.184.216.5", cidr: "93.184.216.5/28" },
      { address: "2a00:1450:4001:0::99", cidr: "2a00:1450:4001::99/64" },
      { address: "fe80::1%eth0", cidr: "fe80::1/64" },
    ],
    tun0: [{ address: "8.8.4.4", cidr: null }],
    gone: undefined,
  };
  const reach = (text: string): string => addressReach(text, () => interfaces);
  expect(["93.184.216.5", "2a00:1450:4001::99", "8.8.4.4"].map(reach)).toEqual(Array(3).fill("machine"));
  expect(["93.184.216.14", "2a00:1450:4001::1"].map(reach)).toEqual(["local", "local"]);
  expect(["93.184.216.17", "2a00:1450:4001:1::1", "8.8.8.8"].map(reach)).toEqual(Array(3).fill("public"));
  expect(["127.0.0.1", "10.0.0.1", "fe80::1"].map(reach)).toEqual(["machine", "local", "never"]);
});

/** What the test's own web server was asked for. */
const asked: { path: string; host: string | null; headers: Headers }[] = [];

const web = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  async fetch(request) {
    const { pathname, search } = new URL(request.url);
    asked.push({ path: pathname, host: request.headers.get("host"), headers: request.headers });
    if (request.method === "DELETE") return new Response(null, { status: 204 });
    if (request.method === "POST" && pathname === "/echo") return new Response(request.body);
    const [, kind = "", argument = ""] = pathname.split("/");
    switch (kind) {
      case "bytes":
        return new Response(new Uint8Array(Number(argument)), {
          headers: { "content-type": "Application/X-Bytes; a=b" },
        });
      case "hop":
        return Number(argument) === 0
          ? new Response("arrived")
          : Response.redirect(`/hop/${Number(argument) - 1}`, 307);
      case "to":
        return new Response(null, {
          status: 302,
          headers: { location: decodeURIComponent(search.slice(1)) },
        });
      case "status":
        return new Response("no", { status: Number(argument) });
      case "zip":
        return new Response(Bun.gzipSync(new TextEncoder().encode("hello")), {
          headers: { "content-encoding": "gzip" },
        });
      case "forever":
        return new Response(
          new ReadableStream({
            async pull(controller) {
              controller.enqueue(new Uint8Array(1));
              await Bun.sleep(5);
            },
          }),
        );
      default:
        return new Response("hello", { headers: { "content-type": "text/plain" } });
    }
  },
});
afterAll(() => web.stop(true));

const LOOPBACK = [{ address: "127.0.0.1", family: 4 }];
/** All names mean this machine. */
const local = publicFetch({ allowLoopback: true, resolve: async () => LOOPBACK });
const strict = publicFetch();
const never = new AbortController().signal;
const at = (path: string, host = "files.example") => `http://${host}:${web.port}${path}`;

async function reason(fetching: ReturnType<PublicFetch>): Promise<string> {
  return fetching.then(
    () => "fetched",
    (error: unknown) => {
      if (error instanceof FetchError) return error.message;
      throw error;
    },
  );
}

test("a file has its type, comes from the resolved address, with the original Host header", async () => {
  const { url, mimeType, pieces } = await local(at("/bytes/100000"), { bytesMax: 100_000 }, never);
  expect(url).toBe(at("/bytes/100000"));
  expect(mimeType).toBe("application/x-bytes");
  expect(pieces.reduce((sum, piece) => sum + piece.length, 0)).toBe(100_000);
  expect(asked.at(-1)).toMatchObject({ host: `files.example:${web.port}` });
  expect(asked.at(-1)?.headers.get("authorization")).toBeNull();
});

test("three redirects are followed, a fourth is not", async () => {
  const { url, pieces } = await local(at("/hop/3"), { bytesMax: 100 }, never);
  expect(url).toBe(at("/hop/0"));
  expect(Buffer.concat(pieces).toString()).toBe("arrived");
  expect(await reason(local(at("/hop/4"), { bytesMax: 100 }, never))).toContain("more than 3 times");
});

describe("refuses to connect to", () => {
  const before = () => asked.length;
  test.each([
    ["this machine by name", `http://localhost:${web.port}/`],
    ["this machine by address", `http://127.0.0.1:${web.port}/`],
    ["in decimal", `http://2130706433:${web.port}/`],
    ["in octal", `http://0177.0.0.1:${web.port}/`],
    ["in hexadecimal", `http://0x7f.1:${web.port}/`],
    ["in short form", `http://127.1:${web.port}/`],
    ["as IPv6", `http://[::1]:${web.port}/`],
    ["as IPv4 inside IPv6", `http://[::ffff:127.0.0.1]:${web.port}/`],
    ["as the unspecified address", `http://0.0.0.0:${web.port}/`],
    ["the cloud's metadata", "http://169.254.169.254/latest/meta-data/"],
  ])("%s", async (_, url) => {
    const count = before();
    expect(await reason(strict(url, { bytesMax: 100 }, never))).toContain("not on the public internet");
    expect(asked.length).toBe(count);
  });

  test("a host with a public and a private address", async () => {
    const mixed = publicFetch({ resolve: async () => [{ address: "8.8.8.8", family: 4 }, ...LOOPBACK] });
    expect(await reason(mixed(at("/"), { bytesMax: 100 }, never))).toContain("not on the public internet");
  });

  test("a private redirect target", async () => {
    // The first host passes, the second does not: names are looked up anew.
    const resolve = async (host: string) =>
      host === "files.example" ? LOOPBACK : [{ address: "10.0.0.1", family: 4 }];
    const inward = publicFetch({ allowLoopback: true, resolve });
    const url = at(`/to/?${encodeURIComponent("http://intranet.example/")}`);
    expect(await reason(inward(url, { bytesMax: 100 }, never))).toContain("not on the public internet");
  });

  test.each([
    "file:///etc/passwd",
    "ftp://files.example/x",
    "data:text/plain,x",
    "gopher://x",
    "javascript:1",
  ])("%s", async (url) => {
    expect(await reason(local(url, { bytesMax: 100 }, never))).toContain("only http and https");
    const redirected = at(`/to/?${encodeURIComponent(url)}`);
    expect(await reason(local(redirected, { bytesMax: 100 }, never))).toContain("only http and https");
  });

  test("an invalid URL, or one with a password", async () => {
    expect(await reason(local("not a valid URL", { bytesMax: 100 }, never))).toContain("not a valid URL");
    expect(await reason(local("http://me:pw@files.example/", { bytesMax: 100 }, never))).toContain(
      "password",
    );
  });
});

test("the name is resolved once: no DNS rebinding", async () => {
  let lookUps = 0;
  const changing = publicFetch({
    allowLoopback: true,
    resolve: async () => (lookUps++ === 0 ? LOOPBACK : [{ address: "10.0.0.1", family: 4 }]),
  });
  await changing(at("/"), { bytesMax: 100 }, never);
  expect(lookUps).toBe(1);
});

describe("a failed fetch has a reason", () => {
  test.each<[string, Parameters<PublicFetch>[1], string]>([
    ["/bytes/101", { bytesMax: 100 }, "larger than 100 bytes"],
    ["/status/404", { bytesMax: 100 }, "status 404"],
    ["/zip", { bytesMax: 100 }, "compressed"],
    ["/forever", { bytesMax: 1_000_000, timeoutMs: 100 }, "after 0.1 seconds"],
  ])("%s", async (path, options, words) => {
    expect(await reason(local(at(path), options, never))).toContain(words);
  });

  test("if no server listens, or the name is unknown", async () => {
    expect(await reason(local("http://files.example:1/", { bytesMax: 100 }, never))).toContain("reached");
    const nameless = publicFetch({ resolve: () => Promise.reject(new Error("ENOTFOUND")) });
    expect(await reason(nameless("http://nowhere.example/", { bytesMax: 100 }, never))).toContain("reached");
  });

  test("if the DNS lookup hangs", async () => {
    const hanging = publicFetch({ resolve: () => new Promise(() => undefined) });
    const options = { bytesMax: 100, timeoutMs: 50 };
    expect(await reason(hanging("http://slow.example/", options, never))).toContain("after 0.05 seconds");
  });

  test("on abort, with the signal's reason", async () => {
    const abort = new AbortController();
    const fetching = local(at("/forever"), { bytesMax: 1_000_000 }, abort.signal);
    abort.abort(new Error("gone"));
    const thrown: unknown = await fetching.catch((error: unknown) => error);
    expect(thrown).toEqual(new Error("gone"));
  });
});

describe("a request with a method", () => {
  const send = publicRequest({ allowLoopback: true, resolve: async () => LOOPBACK });

  test("carries its headers and its text, and its answer may be empty", async () => {
    const headers = { authorization: "Bearer t", "content-type": "application/json" };
    const response = await send(at("/echo"), { method: "POST", headers, body: '{"a":1}', signal: never });
    expect([response.status, await response.json()]).toEqual([200, { a: 1 }]);
    expect(asked.at(-1)?.headers.get("authorization")).toBe("Bearer t");
    expect((await send(at("/"), { method: "DELETE" })).status).toBe(204);
    expect((await send(at("/status/404"))).status).toBe(404);
  });

  test("is not carried to another address, nor into a private network", async () => {
    const failureOf = (work: Promise<unknown>) => work.catch((error: unknown) => String(error));
    const before = asked.length;
    expect(await failureOf(send(at("/hop/2"), { method: "POST", body: "x" }))).toContain("redirects");
    expect(asked.length).toBe(before + 1);
    const outside = publicRequest();
    expect(await failureOf(outside(`http://127.0.0.1:${web.port}/`))).toContain("public addresses");
    expect(asked.length).toBe(before + 1);
  });

  test("ends when it is aborted", async () => {
    const abort = new AbortController();
    const { body } = await send(at("/forever"), { signal: abort.signal });
    const reader = body?.getReader();
    await reader?.read();
    abort.abort(new Error("enough"));
    const rest = async () => {
      for (;;) if ((await reader?.read())?.done !== false) return "ended";
    };
    expect(await rest().catch(() => "failed")).toBeOneOf(["ended", "failed"]);
  });
});
