// The executable's first file. The sandbox's launcher runs before every tool call and needs next to nothing, so it is
// decided here, before the rest of the program has been loaded: 10 ms instead of 80.

import { launcherMain } from "../ffi/sandbox-launcher.ts";
import { LAUNCHER_WORD } from "./core/launcher.ts";

const [, , word, ...words] = process.argv;

if (word === LAUNCHER_WORD) process.exit(launcherMain(words));
else void import("./main.ts");
