// A proxy between clients and the server that keeps what went by: the wire as real clients write it.

/** A request and the status of its answer. */
export interface Recorded {
  readonly method: string;
  readonly path: string;
  readonly body: unknown;
  readonly status: number;
}

export interface Recorder {
  readonly root: string;
  /** What has gone by since the last call. */
  take(): readonly Recorded[];
  stop(): Promise<void>;
}

export function startRecorder(target: string): Recorder {
  let recorded: Recorded[] = [];
  const server = Bun.serve({
    hostname: "127.0.0.1",
    port: 0,
    idleTimeout: 0,
    fetch: async (request) => {
      const { pathname, search } = new URL(request.url);
      const text = await request.text();
      const headers = new Headers(request.headers);
      headers.delete("host");
      const answer = await fetch(target + pathname + search, {
        method: request.method,
        headers,
        ...(text === "" ? {} : { body: text }),
        signal: request.signal,
      });
      const { status } = answer;
      recorded.push({ method: request.method, path: pathname, body: parsed(text), status });
      return new Response(answer.body, { status, headers: answer.headers });
    },
  });
  return {
    root: `http://127.0.0.1:${server.port}`,
    take: () => {
      const taken = recorded;
      recorded = [];
      return taken;
    },
    stop: () => server.stop(true),
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return text === "" ? null : text.slice(0, 200);
  }
}
