// The commands that write model files: quantize and convert.

import type { Command } from "commander";
import { PYTHON_BY_DEFAULT } from "../config/settings.ts";
import { defined } from "../core/defined.ts";
import { FILE_TYPE_NAMES } from "../core/quantization.ts";
import { PULL_FLAGS } from "./hub-args.ts";
import type { Choose } from "./invocation.ts";
import { flagsOf, MODEL_ID, withSettings } from "./setting-flags.ts";

const QUANTIZE_FLAGS = [...PULL_FLAGS, "models[].quantization.imatrix"];
const CONVERT_FLAGS = ["models[].device.hf_cache", "global.token_source"];
/** What PyPI's PyTorch takes. */
const TORCH_SIZE = "on Linux with x86-64 its CUDA build, about 3 GB";

/** Adds `quantize`. */
export function addQuantizeCommand(program: Command, idText: string, choose: Choose): void {
  const quantize = program
    .command("quantize")
    .description("Write a model with smaller weights.")
    .argument("<model>", `a GGUF file, or ${idText}`)
    .argument("<type>", `such as Q4_K_M; one of ${FILE_TYPE_NAMES.join(", ")}`)
    .option("-o, --output <file>", "the file to write (default: the model's name with the type, here)")
    .option("--calibrate <file>", "a text to make an importance matrix of; instead of --imatrix")
    .option(
      "--type <pattern=type>",
      "a type for the tensors whose names match a regular expression: 'ffn_down=Q6_K'; may be repeated",
      (one: string, others: readonly string[]) => [...others, one],
      [] as readonly string[],
    );
  type QuantizeFlags = {
    readonly output?: string;
    readonly calibrate?: string;
    readonly type: readonly string[];
  };
  withSettings(quantize, QUANTIZE_FLAGS).action(
    (id: string, type: string, { output, calibrate, type: tensorTypes }: QuantizeFlags) =>
      choose({
        command: "quantize",
        type,
        tensorTypes,
        ...defined({ output, calibrate }),
        flags: { ...flagsOf(quantize), [MODEL_ID]: [id] },
      }),
  );
}

/** Adds `convert`. */
export function addConvertCommand(program: Command, choose: Choose): void {
  const convert = program
    .command("convert")
    .description("Make a GGUF file of a model in safetensors, with llama.cpp's converter in a sandbox.")
    .argument("<model>", "a folder with config.json and *.safetensors, or a repository owner/name of the hub")
    .argument("[type]", `f32, f16, bf16, q8_0, auto (as in the model), or a type of svc quantize`, "auto")
    .option("-o, --output <file>", "the file to write (default: the model's name with the type, here)")
    .option("--python <program>", "base Python of the converter's own environment", PYTHON_BY_DEFAULT)
    .option("--install-torch", `download PyTorch where that Python has none: ${TORCH_SIZE}`);
  type ConvertFlags = { readonly output?: string; readonly python: string; readonly installTorch?: boolean };
  withSettings(convert, CONVERT_FLAGS).action(
    (source: string, type: string, { output, python, installTorch = false }: ConvertFlags) =>
      choose({
        command: "convert",
        source,
        type,
        output,
        python,
        installsTorch: installTorch,
        flags: flagsOf(convert),
      }),
  );
}
