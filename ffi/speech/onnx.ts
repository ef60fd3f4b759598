// Neural networks in ONNX files, by onnxruntime's WebAssembly build: a damaged or hostile file can do nothing but fail, and there is no
// library for each platform. One thread: a small voice is 50 times faster than real time with one.

import { env, InferenceSession, Tensor as OnnxTensor } from "onnxruntime-web/wasm";
import type { Network, OpenNetwork, Tensor } from "../../src/worker/speech/network.ts";
import { readOnnxRuntime } from "../embedded.ts";

env.wasm.numThreads = 1;
env.wasm.wasmBinary = readOnnxRuntime();
env.logLevel = "error";

/** Reads a network. Throws for a file that is none. */
export const openOnnx: OpenNetwork = async (file) => {
  const session = await InferenceSession.create(file);
  const network: Network = async (inputs) => {
    const feeds = Object.entries(inputs).map(([name, tensor]) => [name, onnxTensor(tensor)] as const);
    const outputs = await session.run(Object.fromEntries(feeds));
    return Object.fromEntries(Object.entries(outputs).map(([name, value]) => [name, tensorOf(name, value)]));
  };
  return network;
};

function onnxTensor({ data, dims }: Tensor): OnnxTensor {
  return data instanceof Float32Array
    ? new OnnxTensor("float32", data, dims)
    : new OnnxTensor("int64", data, dims);
}

function tensorOf(name: string, { data, dims }: OnnxTensor): Tensor {
  if (data instanceof Float32Array || data instanceof BigInt64Array) return { data, dims };
  throw new Error(`output ${name} of the network is of a type that svc does not read`);
}
