/** What the world may know of a served model. */
export interface ModelInfo {
  /** Public id, as sent in `model`. Never a path of the server. */
  readonly id: string;
  /** When the model became known to this server, Unix seconds. */
  readonly created: number;
  readonly ownedBy: string;
  readonly status: "loaded" | "unloaded" | "reloading";
  /** Of an adapter: its base model. */
  readonly parent?: string;
  /** Public name of where it comes from; of an adapter: its alias. */
  readonly root?: string;
  readonly adapterGeneration?: string;
}
