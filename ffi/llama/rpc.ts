// llama.cpp's RPC back end: devices of other machines, and this machine's devices for others. Calls ggml's exported
// functions; the shim has no part in it.

import { CFunction, dlopen, type Pointer } from "bun:ffi";
import { join } from "node:path";
import { upstream } from "../names.ts";

/** ggml-backend.h: enum ggml_backend_dev_type. */
const DEVICE_CPU = 0;

function openGgml(dir: string) {
  return dlopen(join(dir, upstream("ggml")), {
    ggml_backend_reg_by_name: { args: ["buffer"], returns: "ptr" },
    ggml_backend_register: { args: ["ptr"], returns: "void" },
    ggml_backend_dev_count: { args: [], returns: "u64" },
    ggml_backend_dev_get: { args: ["u64"], returns: "ptr" },
  }).symbols;
}

function openBase(dir: string) {
  return dlopen(join(dir, upstream("ggml-base")), {
    ggml_backend_reg_get_proc_address: { args: ["ptr", "buffer"], returns: "ptr" },
    ggml_backend_dev_type: { args: ["ptr"], returns: "i32" },
  }).symbols;
}

function text(value: string): Buffer {
  return Buffer.from(`${value}\0`);
}

/** An entry point of the RPC back end, which the libraries contain. */
function entryPoint(dir: string, name: string): Pointer {
  const registry = openGgml(dir).ggml_backend_reg_by_name(text("RPC"));
  const found =
    registry === null ? null : openBase(dir).ggml_backend_reg_get_proc_address(registry, text(name));
  if (found === null) throw new Error("the native libraries lack llama.cpp's RPC back end");
  return found as Pointer; // bun:ffi types all results of functions as this or a bigint
}

/**
 * Adds the devices of a worker, which llama.cpp then treats like cards of this machine. `endpoint`: host:port of an RPC server
 * of the same release. ggml ends the process when it cannot connect. To be called after openNative.
 */
export function addRpcWorker(dir: string, endpoint: string): void {
  const add = CFunction({
    ptr: entryPoint(dir, "ggml_backend_rpc_add_server"),
    args: ["buffer"],
    returns: "ptr",
  });
  const registry = add(text(endpoint)) as Pointer | null; // the declared type of all functions' results is wider
  if (registry === null) throw new Error(`the RPC worker behind ${endpoint} has no devices`);
  openGgml(dir).ggml_backend_register(registry);
}

/**
 * Offers the cards of this machine, or its CPU where it has none, to one client after the other on `endpoint`. Does not
 * return. `threads` is for the CPU. To be called after openNative.
 */
export function serveRpc(dir: string, endpoint: string, threads: number): void {
  const ggml = openGgml(dir);
  const base = openBase(dir);
  const all = Array.from({ length: Number(ggml.ggml_backend_dev_count()) }, (_, i) =>
    ggml.ggml_backend_dev_get(i),
  );
  const devices = all.filter((device) => device !== null);
  const cards = devices.filter((device) => base.ggml_backend_dev_type(device) !== DEVICE_CPU);
  const offered = BigUint64Array.from(cards.length > 0 ? cards : devices, BigInt);
  const start = CFunction({
    ptr: entryPoint(dir, "ggml_backend_rpc_start_server"),
    args: ["buffer", "ptr", "u64", "u64", "buffer"],
    returns: "void",
  });
  start(text(endpoint), null, threads, offered.length, offered);
}
