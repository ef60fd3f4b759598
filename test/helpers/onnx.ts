// Writes ONNX models small enough to be made in a test: protobuf messages as onnx.proto3 numbers their fields.

type Bytes = Uint8Array;

/** Of TensorProto.DataType. */
export const TYPE = { float: 1, int64: 7 } as const;
type Type = (typeof TYPE)[keyof typeof TYPE];

function varint(value: number | bigint): Bytes {
  const bytes: number[] = [];
  let rest = BigInt.asUintN(64, BigInt(value));
  do {
    const low = Number(rest & 127n);
    rest >>= 7n;
    bytes.push(rest === 0n ? low : low | 128);
  } while (rest !== 0n);
  return Uint8Array.from(bytes);
}

function number(field: number, value: number | bigint): Bytes {
  return Buffer.concat([varint(field << 3), varint(value)]);
}

function bytes(field: number, content: Bytes | string): Bytes {
  const data = typeof content === "string" ? Buffer.from(content) : content;
  return Buffer.concat([varint((field << 3) | 2), varint(data.length), data]);
}

/** A constant. */
export function tensor(
  name: string,
  dims: readonly number[],
  values: readonly number[],
  type: Type = TYPE.float,
): Bytes {
  const data =
    type === TYPE.float
      ? new Uint8Array(Float32Array.from(values).buffer)
      : new Uint8Array(BigInt64Array.from(values, BigInt).buffer);
  return Buffer.concat([
    ...dims.map((dim) => number(1, dim)),
    number(2, type),
    bytes(8, name),
    bytes(9, data),
  ]);
}

/** An input or output; a dimension that is a word is open. */
export function value(name: string, dims: readonly (number | string)[], type: Type = TYPE.float): Bytes {
  const shape = dims.map((dim) => bytes(1, typeof dim === "number" ? number(1, dim) : bytes(2, dim)));
  return Buffer.concat([
    bytes(1, name),
    bytes(2, bytes(1, Buffer.concat([number(1, type), bytes(2, Buffer.concat(shape))]))),
  ]);
}

/** An operation with one output; `integers` are its attributes. */
export function node(
  operation: string,
  inputs: readonly string[],
  output: string,
  integers: Readonly<Record<string, number>> = {},
): Bytes {
  const attributes = Object.entries(integers).map(([name, one]) =>
    bytes(5, Buffer.concat([bytes(1, name), number(3, one), number(20, 2)])),
  );
  return Buffer.concat([
    ...inputs.map((name) => bytes(1, name)),
    bytes(2, output),
    bytes(3, `${output}_node`),
    bytes(4, operation),
    ...attributes,
  ]);
}

export interface OnnxModel {
  readonly nodes: readonly Bytes[];
  readonly constants: readonly Bytes[];
  readonly inputs: readonly Bytes[];
  readonly outputs: readonly Bytes[];
  readonly metadata: Readonly<Record<string, string>>;
}

/** The bytes of a model, opset 13. */
export function onnx({ nodes, constants, inputs, outputs, metadata }: OnnxModel): Bytes {
  const graph = [
    ...nodes.map((one) => bytes(1, one)),
    bytes(2, "graph"),
    ...constants.map((one) => bytes(5, one)),
    ...inputs.map((one) => bytes(11, one)),
    ...outputs.map((one) => bytes(12, one)),
  ];
  const properties = Object.entries(metadata).map(([key, text]) =>
    bytes(14, Buffer.concat([bytes(1, key), bytes(2, text)])),
  );
  return Buffer.concat([
    number(1, 8),
    bytes(7, Buffer.concat(graph)),
    bytes(8, Buffer.concat([bytes(1, ""), number(2, 13)])),
    ...properties,
  ]);
}
