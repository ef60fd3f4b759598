// The C boundary: what is thrown inside stays inside, and the generated table matches the header.

import { describe, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { NATIVE } from "../../ffi/embedded.ts";
import { abiHash } from "../../ffi/generate.ts";
import { ABI_HASH } from "../../ffi/llama/symbols.ts";
import { cText, nativeText, takeText } from "../../ffi/text.ts";
import { upstream } from "../../ffi/names.ts";
import { libraryDir, native, tinyBackend, TINY_PATH } from "../helpers/native.ts";
import { tempDir } from "../helpers/tmp.ts";
import { refusal } from "../helpers/refusal.ts";

const FFI = join(import.meta.dir, "../../ffi");
const header = readFileSync(join(FFI, "shim/svc_llama.h"), "utf8");

describe("ABI", () => {
  test("the committed library was built from this header", () => {
    expect(NATIVE.abi).toBe(abiHash(header));
    expect(nativeText(native().svc_abi_hash())).toBe(ABI_HASH);
  });
});

describe("exceptions do not leave the shim", () => {
  for (const [kind, message] of [
    [0, "raised on purpose"],
    [1, "an unknown error was raised in native code"],
    [2, "std::bad_alloc"],
  ] as const) {
    test(`kind ${kind} becomes a code and a message`, () => {
      expect(native().svc_selftest_throw(kind)).toBe(-1);
      expect(nativeText(native().svc_last_error())).toBe(message);
    });
  }

  test("missing handles are errors, not crashes", () => {
    const shim = native();
    expect(shim.svc_model_info(null)).toBeNull();
    expect(nativeText(shim.svc_last_error())).toBe("no model was given");
    expect(
      shim.svc_decode(null, 1, new Int32Array(1), new Int32Array(1), new Int32Array(1), new Int8Array(1)),
    ).toBe(-2);
    expect(shim.svc_chat_open(null, null, cText("[]"))).toBeNull();
    expect(shim.svc_render_begin(null, cText("{}"), 0)).toBeNull();
    expect(shim.svc_sampler_new(null, 0, 0, 0, 0)).toBeNull();
  });
});

describe("invalid model files are rejected with a reason", () => {
  const dir = tempDir();

  test("no such file", async () => {
    expect((await refusal(() => tinyBackend({}, join(dir, "none.gguf")))).code).toBe("model_unavailable");
  });

  test("not a GGUF file", async () => {
    const path = join(dir, "garbage.gguf");
    writeFileSync(path, "this is no model".repeat(1000));
    expect((await refusal(() => tinyBackend({}, path))).message).toContain("could not be loaded");
  });

  test("truncated", async () => {
    const path = join(dir, "half.gguf");
    writeFileSync(path, readFileSync(TINY_PATH).subarray(0, 2_000_000));
    expect((await refusal(() => tinyBackend({}, path))).message).toContain("could not be loaded");
  });

  test("a chat template with a syntax error", async () => {
    const error = await refusal(() => tinyBackend({ chatTemplate: "{% for %}" }));
    expect(error.message).toContain("the chat template of tiny.gguf failed: line 1: expected a name");
  });

  test.each([
    "{% set a = [] %}{% set _ = a.append(a) %}{{ a }}",
    "{% set a = {} %}{% set _ = a.update({'a': a}) %}{{ a | tojson }}",
    "{% if messages is defined %}{% set _ = messages.append(messages) %}{% endif %}{{ messages }}",
    "{% if tools %}{% set _ = tools.append(tools) %}{% set _ = tools.append(tools) %}{% endif %}{{ tools }}",
  ])("a chat template that puts a list into itself is a template like others: %s", async (template) => {
    const texts =
      "{% for message in messages %}{% if message.role is defined %}{{ message.content }}{% endif %}{% endfor %}";
    const opened = await tinyBackend({ chatTemplate: template + texts }).catch((error: unknown) => error);
    expect(opened).toBeObject();
    if (opened instanceof Error) expect(opened.message).toContain("the chat template of tiny.gguf failed");
    else (opened as Awaited<ReturnType<typeof tinyBackend>>).close();
  });
});

test("system information names a CPU device", () => {
  const info = JSON.parse(takeText(native(), native().svc_system_info()));
  expect(info.devices.map((device: { type: string }) => device.type)).toContain("cpu");
});

test.if(process.platform === "linux")("an engine that an error of a device ends says so", async () => {
  const dir = libraryDir();
  const script = `
    import { dlopen } from "bun:ffi";
    import { openNative } from "${join(import.meta.dir, "../../ffi/library.ts")}";
    openNative("${dir}", 0).svc_catch_crashes();
    const { symbols: ggml } = dlopen("${join(dir, upstream("ggml-base"))}", {
      ggml_log_internal: { args: ["i32", "buffer"], returns: "void" },
    });
    const ERROR = 4;
    for (const text of ["CUDA error: out of memory", "  current device: 0, in function decode", "what a user wrote"])
      ggml.ggml_log_internal(ERROR, Buffer.from(text + "\\n\\0"));
    dlopen("libc.so.6", { abort: { args: [], returns: "void" } }).symbols.abort();`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdout: "ignore", stderr: "pipe" });
  const [said] = await Promise.all([new Response(child.stderr).text(), child.exited]);
  expect(child.signalCode).toBe("SIGABRT");
  expect(said).toContain(" or memory ran out; CUDA error: out of memory). This engine process ends");
  expect(said).not.toContain("user");
});
