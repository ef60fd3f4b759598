// `svc replay`: reads and writes the files; cli/replay.ts compares.

import { readFileSync, statSync, writeFileSync } from "node:fs";
import { EXIT } from "../cli/invocation.ts";
import { partings, readExchanges, record, type Exchange } from "../cli/replay.ts";
import { ServerClient } from "../cli/server-client.ts";
import type { Settings } from "../config/settings.ts";
import { terminalText } from "../core/visible-text.ts";

interface ReplayCommand {
  readonly file: string;
  /** Where requests and new answers are written; absent: nowhere. */
  readonly output?: string;
}

/** The text of a file of requests. Throws a sentence for people. */
function recorded(file: string): string {
  if (statSync(file, { throwIfNoEntry: false })?.isFile() === true) return readFileSync(file, "utf8");
  throw new Error(`replay: there is no file ${file}. It has a request a line, as --record writes them.`);
}

/** Sends the requests of a file one after the other. Fails if an answer differs. Throws a sentence for people. */
export async function replay({ file, output }: ReplayCommand, settings: Settings): Promise<number> {
  const client = new ServerClient(settings.server);
  const exchanges = readExchanges(recorded(file));
  const answered: Exchange[] = [];
  let compared = 0;
  let equal = 0;
  for (const [i, exchange] of exchanges.entries()) {
    const again = await record(exchange, client);
    answered.push(again);
    if (exchange.answer === undefined) continue;
    compared++;
    const found = partings(exchange, again);
    if (found.length === 0) equal++;
    for (const text of found) console.log(terminalText(`${i + 1}: ${text}`));
  }
  if (output !== undefined) {
    writeFileSync(output, answered.map((one) => `${JSON.stringify(one)}\n`).join(""), { mode: 0o600 });
    console.log(`${answered.length} answers written to ${output}`);
  } else if (compared < exchanges.length) {
    const count = exchanges.length - compared;
    console.log(`${count} requests have no recorded answer: record them with --record FILE`);
  }
  if (compared > 0) console.log(`${equal} of ${compared} answers have the recorded fingerprints`);
  return equal === compared ? EXIT.ok : EXIT.failure;
}
