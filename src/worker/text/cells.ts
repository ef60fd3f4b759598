// Bookkeeping of KV cells: which slots hold which cell. A shared cell counts once. Mirrors the native cache, so that the
// scheduler needs no native calls.

import { assert } from "../../core/assert.ts";
import type { SlotId } from "./backend.ts";

/** Minimum growth of a slot's list. */
const GROWTH = 256;

/**
 * Cells by slot and position. A slot is pinned (its sequence runs) or not (its cells are kept for reuse and may be evicted
 * at any time).
 */
export class CellBook {
  readonly cells: number;
  private readonly holders: Uint16Array; // [cells] slots that hold the cell
  private readonly pins: Uint16Array; // [cells] pinned slots among them
  private readonly freeList: Int32Array; // [cells] the first `freeCount` entries are the free cells
  private freeCount: number;
  private unpinned: number; // cells that no pinned slot holds, including free ones
  private readonly lists: Int32Array[]; // [slots][≥ length] cells by position
  private readonly lengths: Int32Array; // [slots]
  private readonly pinned: Uint8Array; // [slots] 1 if the slot is pinned

  constructor(cells: number, slots: number) {
    this.cells = cells;
    this.holders = new Uint16Array(cells);
    this.pins = new Uint16Array(cells);
    this.freeList = Int32Array.from({ length: cells }, (_, i) => cells - 1 - i);
    this.freeCount = cells;
    this.unpinned = cells;
    this.lists = Array.from({ length: slots }, () => new Int32Array(0));
    this.lengths = new Int32Array(slots);
    this.pinned = new Uint8Array(slots);
  }

  /** Free cells. */
  get free(): number {
    return this.freeCount;
  }

  /** Cells that running sequences do not hold: free ones and those that may be evicted. */
  get available(): number {
    return this.unpinned;
  }

  /** Cells of a slot. */
  length(slot: SlotId): number {
    const length = this.lengths[slot];
    assert(length !== undefined, "slots are numbered from 0");
    return length;
  }

  /** Cells among a slot's first `count` that a running sequence holds. */
  pinnedWithin(slot: SlotId, count: number): number {
    const list = this.list(slot);
    let n = 0;
    for (let i = 0; i < count; i++) if (countAt(this.pins, cellAt(list, i)) > 0) n++;
    return n;
  }

  /** Cells that would become available without this pinned slot. */
  exclusive(slot: SlotId): number {
    const list = this.list(slot);
    let n = 0;
    for (let i = 0; i < this.length(slot); i++) if (countAt(this.pins, cellAt(list, i)) === 1) n++;
    return n;
  }

  /** Appends `count` free cells to a pinned slot. The caller makes sure that they exist. */
  append(slot: SlotId, count: number): void {
    assert(count <= this.freeCount, "cells are freed before they are needed");
    const length = this.length(slot);
    const list = this.reserve(slot, length + count);
    for (let i = 0; i < count; i++) {
      const cell = cellAt(this.freeList, --this.freeCount);
      list[length + i] = cell;
      this.hold(cell, slot);
    }
    this.lengths[slot] = length + count;
  }

  /** Makes the empty slot `target` share the first `count` cells of `source`. */
  share(source: SlotId, target: SlotId, count: number): void {
    assert(this.length(target) === 0, "only an empty slot can take a prefix");
    const from = this.list(source);
    const list = this.reserve(target, count);
    for (let i = 0; i < count; i++) {
      const cell = cellAt(from, i);
      list[i] = cell;
      this.hold(cell, target);
    }
    this.lengths[target] = count;
  }

  /** Releases a slot's cells from position `from` on. */
  truncate(slot: SlotId, from: number): void {
    const list = this.list(slot);
    for (let i = from; i < this.length(slot); i++) this.drop(cellAt(list, i), slot);
    this.lengths[slot] = Math.min(from, this.length(slot));
  }

  /** Marks a slot as running (pinned) or as kept for reuse. */
  setPinned(slot: SlotId, pinned: boolean): void {
    if ((this.pinned[slot] === 1) === pinned) return;
    const list = this.list(slot);
    for (let i = 0; i < this.length(slot); i++) this.pin(cellAt(list, i), pinned);
    this.pinned[slot] = pinned ? 1 : 0;
  }

  private list(slot: SlotId): Int32Array {
    const list = this.lists[slot];
    assert(list !== undefined, "slots are numbered from 0");
    return list;
  }

  private reserve(slot: SlotId, length: number): Int32Array {
    const list = this.list(slot);
    if (list.length >= length) return list;
    const larger = new Int32Array(length + Math.max(GROWTH, length >> 1));
    larger.set(list);
    this.lists[slot] = larger;
    return larger;
  }

  private hold(cell: number, slot: SlotId): void {
    this.holders[cell] = countAt(this.holders, cell) + 1;
    if (this.pinned[slot] === 1) this.pin(cell, true);
  }

  private drop(cell: number, slot: SlotId): void {
    if (this.pinned[slot] === 1) this.pin(cell, false);
    const left = countAt(this.holders, cell) - 1;
    assert(left >= 0, "a cell is released as often as it is held");
    this.holders[cell] = left;
    if (left === 0) this.freeList[this.freeCount++] = cell;
  }

  private pin(cell: number, up: boolean): void {
    const before = countAt(this.pins, cell);
    this.pins[cell] = before + (up ? 1 : -1);
    if (up && before === 0) this.unpinned--;
    if (!up && before === 1) this.unpinned++;
  }
}

// One function for each type of array: a shared one would be polymorphic, and slow in these loops.

function cellAt(list: Int32Array, index: number): number {
  const cell = list[index];
  assert(cell !== undefined, "cells are read within their list");
  return cell;
}

function countAt(counts: Uint16Array, cell: number): number {
  const count = counts[cell];
  assert(count !== undefined, "cells are numbered within the cache");
  return count;
}
