// Options of the file system that a folder is on, by a mountinfo file.

import { expect, test } from "bun:test";
import { isNoexec, optionsOf } from "../../src/system/mounts.ts";

const MOUNTINFO = [
  "22 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw",
  "30 22 0:25 / /tmp rw,nosuid,nodev,noexec - tmpfs tmpfs rw",
  "31 30 0:26 / /tmp/a\\040b rw,relatime - tmpfs tmpfs rw",
  "32 22 0:27 / /home rw - ext4 /dev/sda2 rw",
  "33 22 0:28 / /home rw,noexec - ext4 /dev/sda3 rw",
  "",
].join("\n");

test.each<[string, boolean]>([
  ["/tmp", true],
  ["/tmp/cache/svc", true],
  ["/tmp/a b/cache", false],
  ["/tmpfiles", false],
  ["/home/me", true], // mounted twice: the last one counts
  ["/var", false],
])("%s: noexec %p", (path, isNo) => {
  expect(optionsOf(path, MOUNTINFO).includes("noexec")).toBe(isNo);
});

test("a folder that is missing has no options", () => {
  expect(isNoexec("/no/such/folder")).toBe(false);
});
