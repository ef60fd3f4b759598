// The engine process, `svc engine`: starts the worker for the model's kind. Never sees HTTP.

import type { EngineOptions, ToEngine } from "../engine/protocol.ts";
import { ImageWork } from "./image/main.ts";
import { SpeechWork } from "./speech/main.ts";
import { TextWork } from "./text/main.ts";
import { type EngineWork, send } from "./shared/work.ts";

/** Entry of the hidden command `svc engine`. Serves until `stop` arrives or the parent exits. Returns the exit code. */
export async function engineMain(): Promise<number> {
  const started = Promise.withResolvers<EngineWork | undefined>();
  let work: EngineWork | undefined;
  const receive = (message: ToEngine): void => {
    if (message.type === "ping") {
      send({ type: "pong" });
      work?.sendDevices?.(); // a model that is idle, too: others come and go
    } else if (message.type === "start") started.resolve((work ??= workFor(message.options)));
    else if (work === undefined) started.resolve(undefined); // stopped before a model was named
    else work.receive(message);
  };
  process.on("message", receive);
  process.on("disconnect", () => receive({ type: "stop" }));
  // Ctrl-C and a terminal that closes reach the whole process group; the parent decides when this process ends.
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"] as const) process.on(signal, () => {});
  const begun = await started.promise;
  return begun === undefined ? 0 : begun.run(); // memory and native handles go with the process
}

function workFor(options: EngineOptions): EngineWork {
  switch (options.kind) {
    case "text":
      return new TextWork(options);
    case "image":
      return new ImageWork(options);
    case "speech":
      return new SpeechWork(options);
  }
}
