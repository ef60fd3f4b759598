// The native sequences of a context, by its plan: slots, their guards, and the one through which states and cells are copied.

import type { BatchColumns, SlotId } from "../../src/worker/text/backend.ts";
import type { Native } from "../library.ts";
import type { Handle } from "../text.ts";
import { LlamaCells } from "./cells.ts";
import type { ContextPlan } from "./context.ts";
import type { LlamaIdentity } from "./identity.ts";
import { LlamaStates } from "./states.ts";
import { WindowGuards } from "./windows.ts";

/** Parts of the backend that sequences need. */
export interface SequenceDeps {
  readonly native: Native;
  readonly context: Handle;
  readonly identity: LlamaIdentity;
  readonly isMarkup: (token: number) => boolean;
  /** Size of the sliding window, positions; 0 without one. */
  readonly window: number;
  /** Chunked attention: all positions leave the window at once. */
  readonly inBlocks: boolean;
  /** Layers are on devices. */
  readonly isOnDevice: boolean;
}

export class LlamaSequences {
  /** Undefined where states cannot be saved. */
  readonly states: LlamaStates | undefined;
  /** Undefined where cells are not copied. */
  readonly copies: LlamaCells | undefined;
  private readonly guards: WindowGuards | undefined;
  private readonly deps: SequenceDeps;

  constructor(deps: SequenceDeps, { states, sequences, slots, fullWindows, copies }: ContextPlan) {
    this.deps = deps;
    const { native, context, identity, isMarkup, window, inBlocks, isOnDevice } = deps;
    const scratch = sequences - 1;
    if (states !== undefined)
      this.states = new LlamaStates({
        native,
        context,
        scratch: states === "alone" ? undefined : scratch,
        windowed: window > 0,
        isOnDevice,
        identity,
        isMarkup,
        cut: (slot, from) => this.cut(slot, from),
      });
    const { states: saved } = this;
    const strip = saved && ((sequence: number): void => saved.strip(sequence));
    if (fullWindows && sequences >= 2 * slots)
      this.guards = new WindowGuards({ native, context, slots, window, inBlocks, strip });
    const { guards } = this;
    if (copies) this.copies = new LlamaCells({ native, context, scratch, identity, guards, strip });
  }

  /** How many of these steps one multi-step decode may do. */
  stepsMax(steps: number): number {
    return Math.min(steps, this.guards?.stepsMax ?? steps);
  }

  /** After a pass of `n` rows, or a multi-step decode of `steps` steps. */
  computed(columns: BatchColumns, n: number, steps?: number): void {
    this.guards?.computed(columns, n, steps);
  }

  /** After a pass of media. */
  computedMedia(slot: SlotId, from: number, to: number): void {
    this.guards?.computedMedia(slot, from, to);
  }

  /** Removes the cells of a slot from a position on; false where that is not possible. */
  cut(slot: SlotId, from: number): boolean {
    this.guards?.cut(slot, from);
    return this.deps.native.svc_sequence_remove(this.deps.context, slot, from, -1) === 1;
  }

  /** Shares the first cells of a slot with another one. */
  share(source: SlotId, target: SlotId, length: number): void {
    this.deps.native.svc_sequence_copy(this.deps.context, source, target, 0, length);
    this.guards?.shared(source, target, length);
  }
}
