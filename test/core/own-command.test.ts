import { expect, test } from "bun:test";
import { ownCommand } from "../../src/core/own-command.ts";

test.each(["/$bunfs/root/svc", "B:\\~BUN\\root\\svc.exe", "B:/~BUN/root/svc.exe"])(
  "a compiled executable, whose first file is %s, needs no script",
  (main) => expect(ownCommand(main)).toEqual([process.execPath]),
);

test.each(["/home/user/svc/src/entry.ts", "B:\\svc\\src\\entry.ts"])(
  "from source, with %s, Bun runs the script",
  (main) => expect(ownCommand(main)).toEqual([process.execPath, expect.stringMatching(/src.entry\.ts$/)]),
);
