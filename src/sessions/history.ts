// History of the web interface on a State: one record for each conversation, its content as a body. Knows nothing of the content.
// A page sends the version that it replaces; if another browser was faster it gets 409, merges and sends again. Merging is the page's.

import type { Caller, ForCaller } from "../core/caller.ts";
import { ServiceError } from "../core/error.ts";
import type { History, HistoryItem } from "../core/history.ts";
import type { OwnedState, Records } from "../core/state.ts";
import { HISTORY_BYTES_MAX, HISTORY_MAX } from "./limits.ts";

export interface HistoryOptions {
  readonly capacity?: number;
  readonly bytesMax?: number;
}

/** Each caller's history on a State. */
export function historyStore(
  state: OwnedState,
  { capacity = HISTORY_MAX, bytesMax = HISTORY_BYTES_MAX }: HistoryOptions = {},
): ForCaller<History> {
  const records = state.records<HistoryItem>("ui-history", {
    capacity,
    life: { type: "endless" },
    bodyBytesMax: bytesMax,
  });
  return (caller) => new HistoryOfCaller(state, records(caller), caller);
}

class HistoryOfCaller implements History {
  private readonly state: Pick<OwnedState, "stage">;
  private readonly records: Records<HistoryItem>;
  private readonly caller: Caller;

  constructor(state: Pick<OwnedState, "stage">, records: Records<HistoryItem>, caller: Caller) {
    this.state = state;
    this.records = records;
    this.caller = caller;
  }

  list(): readonly HistoryItem[] {
    return this.records.list().map(plain);
  }

  get(id: string): { readonly item: HistoryItem; readonly content: Blob } {
    const key = this.keyOf(id);
    const item = this.records.get(key);
    const content = item?.isDeleted === false ? this.records.body(key) : undefined;
    if (item === undefined || content === undefined) throw notFound();
    return { item: plain(item), content };
  }

  async put(id: string, base: number, content: Uint8Array<ArrayBuffer>): Promise<HistoryItem> {
    const key = this.keyOf(id);
    this.checkVersion(key, base);
    const staged = await this.state.stage([content]);
    try {
      this.checkVersion(key, base); // another one may have been faster meanwhile
    } catch (mismatch) {
      staged.discard();
      throw mismatch;
    }
    const item = { id, version: base + 1, isDeleted: false };
    this.records.put(key, item, staged);
    return item;
  }

  delete(id: string): HistoryItem {
    const key = this.keyOf(id);
    const before = this.records.get(key);
    if (before === undefined) throw notFound();
    const item = { id, version: before.version + 1, isDeleted: true };
    this.records.delete(key); // with its content
    this.records.put(key, item);
    return item;
  }

  /** Browsers choose ids, so two keys may choose the same. */
  private keyOf(id: string): string {
    const { owner } = this.caller;
    return owner === undefined ? id : `${owner}:${id}`;
  }

  private checkVersion(key: string, base: number): void {
    const { version = 0 } = this.records.get(key) ?? {};
    if (version === base) return;
    const message = `version is ${base}, and the server has version ${version}; fetch the conversation and merge it`;
    throw new ServiceError("version_mismatch", message, { param: "version" });
  }
}

/** Without what the State adds. */
function plain({ id, version, isDeleted }: HistoryItem): HistoryItem {
  return { id, version, isDeleted };
}

function notFound(): ServiceError {
  return new ServiceError("conversation_not_found", "the server keeps no conversation with this id");
}
