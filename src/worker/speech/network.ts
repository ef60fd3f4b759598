// Interface of a runtime for neural networks. Implemented in ffi, faked in tests.

/** Numbers in rows; the last dimension is the innermost. */
export interface Tensor {
  readonly data: Float32Array | BigInt64Array;
  readonly dims: readonly number[];
}

/** A network: its inputs and outputs by their names. */
export type Network = (inputs: Readonly<Record<string, Tensor>>) => Promise<Readonly<Record<string, Tensor>>>;

/** Reads a network from the bytes of its file. */
export type OpenNetwork = (file: Uint8Array) => Promise<Network>;

/** An output of a known type. Throws for a network that does not have it. */
export function floatsOf(outputs: Readonly<Record<string, Tensor>>, name: string): Float32Array {
  const { data } = outputs[name] ?? {};
  if (data instanceof Float32Array) return data;
  throw new Error(`the network has no output ${name} of 32-bit floats`);
}
