// The HTTP application on a port, over a fake model, for clients that need a real connection.

import { afterAll, beforeAll } from "bun:test";
import { type MediaRules, NO_MEDIA } from "../../src/core/media.ts";
import type { Generate, RunRequest } from "../../src/core/run.ts";
import { type Listening, listen } from "../../src/http/server.ts";
import { testApp } from "./app.ts";
import { fakeModel } from "./fake-model.ts";

export interface FakeServer {
  /** What clients call the base address; known once the tests run. */
  baseUrl(): string;
  /** The request that arrived last. */
  lastRequest(): RunRequest | undefined;
}

/**
 * Declares a server that listens while the tests of this file run; another model may speak in place of the fake one, and
 * take more than text.
 */
export function fakeServer(other?: Generate, media: MediaRules = NO_MEDIA): FakeServer {
  const { generate, requests } = fakeModel();
  let server: Listening | undefined;
  beforeAll(() => {
    server = listen(testApp(other ?? generate, { media }).app, { hostname: "127.0.0.1", port: 0 });
  });
  afterAll(() => server?.stop(true));
  return {
    baseUrl: () => `http://127.0.0.1:${server?.port}/v1`,
    lastRequest: () => requests.at(-1),
  };
}
