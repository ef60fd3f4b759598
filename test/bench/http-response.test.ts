import { describe, expect, test } from "bun:test";
import { ResponseParser } from "../../bench/http-response.ts";

const HEAD = "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nTransfer-Encoding: chunked\r\n\r\n";

function parse(pieces: readonly string[]): { status: number; body: string; complete: boolean } {
  let body = "";
  const parser = new ResponseParser((text) => (body += text));
  let complete = false;
  for (const piece of pieces) complete = parser.push(piece);
  return { status: parser.status, body, complete };
}

describe("ResponseParser", () => {
  const wire = `${HEAD}5\r\nhello\r\n7\r\n, world\r\n0\r\n\r\n`;

  test("reads a chunked body in one piece", () => {
    expect(parse([wire])).toEqual({ status: 200, body: "hello, world", complete: true });
  });

  test("reads it cut at every possible place, and one character at a time", () => {
    for (let cut = 1; cut < wire.length; cut++) {
      expect(parse([wire.slice(0, cut), wire.slice(cut)]).body).toBe("hello, world");
    }
    expect(parse(wire.split(""))).toEqual({ status: 200, body: "hello, world", complete: true });
  });

  test("is not complete before the last chunk", () => {
    expect(parse([wire.slice(0, -2)]).complete).toBe(false);
  });

  test("reads a body with a length, and an empty one", () => {
    const sized = "HTTP/1.1 429 Too Many Requests\r\nContent-Length: 4\r\n\r\nbusy";
    expect(parse([sized])).toEqual({ status: 429, body: "busy", complete: true });
    const empty = "HTTP/1.1 204 No Content\r\ncontent-length: 0\r\n\r\n";
    expect(parse([empty])).toEqual({ status: 204, body: "", complete: true });
  });

  test("refuses a body of unknown length", () => {
    expect(() => parse(["HTTP/1.1 200 OK\r\n\r\n"])).toThrow("neither Content-Length nor chunked encoding");
  });
});
