// First file of the executable. Helper processes (the sandbox launcher before every tool call, the reader of every web page)
// branch here, before the rest of the program is loaded: 10 ms instead of 80.

import { endWithParent } from "../ffi/linux/parent-death.ts";
import { launcherMain } from "../ffi/linux/sandbox-launcher.ts";
import { GUARD_WORD, LAUNCHER_WORD, SOCKETS_WORD } from "./core/launcher.ts";
import { GUARD_PARENT_PIPE_FD, PARENT_PIPE_FD } from "./core/parent-pipe.ts";
import { READER_WORD } from "./reader/protocol.ts";

/** Hidden commands of helper processes. */
const HELPERS = [
  "engine",
  "convert-adapter",
  "quantize-worker",
  "machine-speed",
  "rpc-devices",
  READER_WORD,
  GUARD_WORD,
  SOCKETS_WORD,
];

const [, , word = "", ...words] = process.argv;

if (HELPERS.includes(word)) endWithParent(word === GUARD_WORD ? GUARD_PARENT_PIPE_FD : PARENT_PIPE_FD);

if (word === LAUNCHER_WORD) process.exit(launcherMain(words));
else if (word === GUARD_WORD)
  void import("../ffi/linux/network-guard.ts").then(({ guardMain }) =>
    process.exit(guardMain(words, process.env)),
  );
else if (word === SOCKETS_WORD)
  void import("../ffi/linux/socket-memory.ts").then(({ socketsMain }) =>
    process.exit(socketsMain(words, process.env)),
  );
else if (word === READER_WORD) void import("./reader/main.ts").then(({ readerMain }) => readerMain());
else void import("./main.ts");
