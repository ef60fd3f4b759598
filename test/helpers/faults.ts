// What tests of failures share: what must hold after each failure.

import { expect } from "bun:test";
import { readdirSync } from "node:fs";
import type { Server } from "./binary.ts";
import { ask, CAPITAL, completeText } from "./chat-client.ts";
import { within } from "./until.ts";

/** Longest time that the server may take to answer again after a failure, milliseconds. */
const RECOVERY_MS = 60_000;

/** The server is alive and right. */
export async function expectServes(server: Server): Promise<void> {
  const answer = completeText(server.url, ask(CAPITAL));
  expect(await within(RECOVERY_MS, "the server answers again", answer)).toBe(CAPITAL.answer);
}

/** Files, sockets and pipes that a process holds open. */
export function openFiles(pid: number): number {
  return readdirSync(`/proc/${pid}/fd`).length;
}

/** The body of an error answer, checked for its form. */
export async function errorOf(response: Response): Promise<{ code: string; message: string; type: string }> {
  const body: unknown = await response.json();
  const { error } = body as { error: { code: string; message: string; type: string } }; // checked below
  for (const field of [error.code, error.message, error.type]) expect(field).toBeString();
  return error;
}
