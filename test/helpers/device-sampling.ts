// How rows are sampled on devices, for tests: the shim reads the native environment, which process.env does not change.

import { dlopen } from "bun:ffi";

const libc = dlopen("libc.so.6", { setenv: { args: ["cstring", "cstring", "i32"], returns: "i32" } });

/** From the next context on: "cpu" counts the CPU as a device, "off" copies whole rows, "" is the default. */
export function setDeviceSampling(sampling: "cpu" | "off" | ""): void {
  libc.symbols.setenv(Buffer.from("SVC_DEVICE_SAMPLING\0"), Buffer.from(`${sampling}\0`), 1);
}
