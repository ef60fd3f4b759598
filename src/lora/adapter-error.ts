/** An adapter's files are invalid. The message is one sentence for the client that loads it, without paths. */
export class AdapterError extends Error {
  constructor(message: string, options?: ErrorOptions) {
    super(message, options);
    this.name = "AdapterError";
  }
}
