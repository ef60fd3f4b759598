// Serves releases to test/release/update.sh: bun serve.ts FOLDER PORT_FILE. FOLDER holds old and new; other names are new, spoiled.

import { join } from "node:path";

const [folder = ".", portFile = "port"] = process.argv.slice(2);
const PIECE_BYTES = 1 << 20;

/** The bytes of a file in pieces: `share` of them, then `end`. */
function pieces(bytes: Uint8Array, share: number, end: "close" | "wait"): ReadableStream<Uint8Array> {
  let at = 0;
  const last = bytes.length * share;
  return new ReadableStream({
    pull(controller) {
      if (at < last) {
        controller.enqueue(bytes.subarray(at, (at += PIECE_BYTES)));
        return undefined;
      }
      if (end === "wait") return new Promise<void>(() => {});
      if (share < 1) controller.error(new Error("cut"));
      else controller.close();
      return undefined;
    },
  });
}

const server = Bun.serve({
  port: 0,
  hostname: "127.0.0.1",
  idleTimeout: 0,
  fetch: async ({ url }) => {
    const [, kind = "", name = ""] = new URL(url).pathname.split("/");
    const file = Bun.file(join(folder, kind === "old" ? "old" : "new", name));
    if (!/^(?:old|new|forged|cut|stalled|slow)$/.test(kind) || !(await file.exists()))
      return new Response("no", { status: 404 });
    const bytes = await file.bytes();
    if (kind === "forged" && name === "SHA256SUMS") return new Response(`${await file.text()}\n`);
    if (!name.endsWith(".tar.gz") || kind === "old" || kind === "new") return new Response(file);
    if (kind === "cut") return new Response(pieces(bytes, 0.5, "close"));
    return new Response(pieces(bytes, kind === "stalled" ? 0.5 : 1, kind === "stalled" ? "wait" : "close"));
  },
});
await Bun.write(portFile, String(server.port));
