/** Something is wrong with an adapter's files. The message is one sentence for the one who loads it, without paths. */
export class AdapterError extends Error {
  constructor(message: string) {
    super(message);
    this.name = "AdapterError";
  }
}
