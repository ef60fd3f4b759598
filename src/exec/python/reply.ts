// Replies of the interpreter (interpreter.py), one JSON line each. Cells can write to the same pipe, so replies are untrusted
// input.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { jsonIn } from "../../core/json.ts";
import { PYTHON_REPLY_BYTES_MAX } from "../limits.ts";

const Text = Type.Union([Type.String(), Type.Null()]);

const Reply = Type.Object({
  id: Type.Integer(),
  exception: Type.Optional(Text),
  repr: Type.Optional(Text),
  type: Type.Optional(Text),
  /** PNG, base64. */
  images: Type.Optional(Type.Array(Type.String())),
  frames: Type.Optional(Type.Array(Type.String())),
  ms: Type.Optional(Type.Number()),
});

export type Reply = Static<typeof Reply>;

/** Reads replies from a stream and resolves their requests. */
export class Replies {
  private readonly waiting = new Map<number, (reply: Reply) => void>();

  /** Reply to request `id`; pending forever if the stream ends before. */
  next(id: number): Promise<Reply> {
    return new Promise((resolve) => {
      this.waiting.set(id, resolve);
    });
  }

  /** Reads until the stream ends; returns false at a line that is too long. */
  async read(stream: AsyncIterable<Uint8Array>): Promise<boolean> {
    let parts: Buffer[] = [];
    let bytes = 0;
    for await (const chunk of stream) {
      let rest = Buffer.from(chunk);
      for (let end = rest.indexOf("\n"); end >= 0; end = rest.indexOf("\n")) {
        this.take(Buffer.concat([...parts, rest.subarray(0, end)]).toString());
        parts = [];
        bytes = 0;
        rest = rest.subarray(end + 1);
      }
      parts.push(rest);
      bytes += rest.byteLength;
      if (bytes > PYTHON_REPLY_BYTES_MAX) return false;
    }
    return true;
  }

  private take(line: string): void {
    const reply = jsonIn(line);
    if (!Value.Check(Reply, reply)) return;
    this.waiting.get(reply.id)?.(reply);
    this.waiting.delete(reply.id);
  }
}
