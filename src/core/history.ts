// Interface of the history: conversations of the web interface that are kept on the server, so that they follow a person to another
// browser. Their content is the page's business.

/** A kept conversation without its content. */
export interface HistoryItem {
  readonly id: string;
  /** Grows with every change, from 1. */
  readonly version: number;
  /** Deleted conversations are listed, so that other browsers delete them, too. */
  readonly isDeleted: boolean;
}

/** A caller's conversations. */
export interface History {
  list(): readonly HistoryItem[];
  /** Throws `conversation_not_found`. */
  get(id: string): { readonly item: HistoryItem; readonly content: Blob };
  /**
   * Replaces version `base` of a conversation, 0 for a new one. Throws `version_mismatch` if another browser was faster,
   * `payload_too_large`, `state_full`, `storage_unavailable`.
   */
  put(id: string, base: number, content: Uint8Array<ArrayBuffer>): Promise<HistoryItem>;
  /** Deletes a conversation, whatever its version. Throws `conversation_not_found`. */
  delete(id: string): HistoryItem;
}
