// The engine process: `svc engine`. Becomes what the kind of its model asks for. Never sees HTTP.

import type { EngineOptions, ToEngine } from "../engine/protocol.ts";
import { ImageWork } from "./image/main.ts";
import { SpeechWork } from "./speech/main.ts";
import { TextWork } from "./text/main.ts";
import { type EngineWork, send } from "./shared/work.ts";

/** Entry of the hidden command `svc engine`. Serves until told to stop or the parent is gone. Returns the exit code. */
export async function engineMain(): Promise<number> {
  const started = Promise.withResolvers<EngineWork | undefined>();
  let work: EngineWork | undefined;
  const receive = (message: ToEngine): void => {
    if (message.type === "ping") send({ type: "pong" });
    else if (message.type === "start") started.resolve((work ??= workFor(message.options)));
    else if (work === undefined) started.resolve(undefined); // told to stop before there was anything to do
    else work.receive(message);
  };
  process.on("message", receive);
  process.on("disconnect", () => receive({ type: "stop" }));
  // Ctrl-C reaches the whole process group; the parent decides when this process ends.
  process.on("SIGINT", () => {});
  process.on("SIGTERM", () => {});
  return (await (await started.promise)?.run()) ?? 0; // memory and native handles go with the process
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
