// A C struct that is filled member by member and passed by pointer. Keeps the texts alive that it points to.

import { ptr } from "bun:ffi";
import { cText } from "./text.ts";

export class Struct {
  readonly bytes: Uint8Array<ArrayBuffer>;
  private readonly view: DataView;
  private readonly texts: Uint8Array[] = [];

  /** All zeros. */
  constructor(size: number) {
    this.bytes = new Uint8Array(new ArrayBuffer(size));
    this.view = new DataView(this.bytes.buffer);
  }

  i32(offset: number, value: number): void {
    this.view.setInt32(offset, value, true);
  }

  f32(offset: number, value: number): void {
    this.view.setFloat32(offset, value, true);
  }

  text(offset: number, value: string): void {
    const text = cText(value);
    this.texts.push(text);
    this.view.setBigUint64(offset, BigInt(ptr(text)), true);
  }
}
