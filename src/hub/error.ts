/**
 * A model could not be had. The message is a whole sentence for the operator, with what to do; it may name folders of this
 * machine, so it is not for clients.
 */
export class HubError extends Error {
  override readonly name = "HubError";
}
