// Runs the soak for as long as one wants: `bun test/soak/main.ts --minutes 30 --streams 32`.

import { join } from "node:path";
import { parseArgs } from "node:util";

const { values } = parseArgs({
  options: { minutes: { type: "string", default: "30" }, streams: { type: "string", default: "32" } },
});
const child = Bun.spawn([process.execPath, "test", join(import.meta.dir, "soak.test.ts")], {
  cwd: join(import.meta.dir, "../.."),
  env: { ...process.env, SVC_SOAK_MINUTES: values.minutes, SVC_SOAK_STREAMS: values.streams },
  stdio: ["ignore", "inherit", "inherit"],
});
process.exitCode = await child.exited;
