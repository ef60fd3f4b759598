// `svc serve`: the server from start to drain.

import { startHint } from "../app/backend-advice.ts";
import { type RunningServer, startServer } from "../app/server.ts";
import { listeningLine, readyLines } from "../cli/banner.ts";
import { rereadAtHangup } from "../cli/hangup.ts";
import { EXIT } from "../cli/invocation.ts";
import { modelName } from "../config/model-name.ts";
import type { Loaded, LoadResult } from "../config/resolve.ts";
import { TIMER_MS_MAX } from "../core/limits.ts";
import type { LoadFailure } from "../core/model-info.ts";
import { reasonOf } from "../core/reason.ts";
import { StartError } from "../core/start-error.ts";
import type { CommandHost } from "./host.ts";

/** Serves until a signal. A failed start or load ends with one line. */
export async function serve(loaded: Loaded, reread: () => LoadResult, host: CommandHost): Promise<number> {
  const { options, complain } = host;
  if (Number.isNaN(options.keepAliveMs ?? 0)) {
    complain(`svc: KEEP_ALIVE_INTERVAL must be a whole number of milliseconds from 1 to ${TIMER_MS_MAX}.`);
    return EXIT.usage;
  }
  let server: RunningServer;
  try {
    server = await startServer(options);
  } catch (error) {
    if (!(error instanceof StartError)) throw error;
    complain(`svc: ${error.message}`);
    return EXIT.failure;
  }
  const stopped = host.untilSignal("reloads");
  rereadAtHangup({ reread, apply: server.apply, say: complain });
  complain(listeningLine(loaded.settings, server));
  const hint = startHint(loaded.settings, options.cacheDir);
  if (hint !== undefined) complain(hint);
  const outcome = await Promise.race([stopped.then(() => "stopped" as const), loadedOrReason(server)]);
  if (outcome instanceof Error) {
    complain(`svc: ${outcome.message}`);
    await server.close();
    return EXIT.failure;
  }
  if (outcome !== "stopped") {
    const configured = new Set(loaded.settings.models.map(modelName));
    const models = server.models.list().filter(({ id, kind }) => kind !== "speech" || configured.has(id));
    const names = models.map(({ id }) => id);
    for (const line of readyLines(loaded.settings, { ...server, names, failures: outcome })) complain(line);
    complain("Ready.");
  }
  await stopped;
  complain("Stopping: waiting for running requests; press Ctrl-C again to stop immediately.");
  await server.close();
  return EXIT.ok;
}

/** The models that could not be loaded, or the reason why none could. */
async function loadedOrReason({ loaded }: RunningServer): Promise<readonly LoadFailure[] | Error> {
  try {
    return await loaded;
  } catch (error) {
    return new Error(reasonOf(error), { cause: error });
  }
}
