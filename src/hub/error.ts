/**
 * A model could not be fetched. The message is a sentence for the operator, with the fix; it may name folders of this
 * machine, so clients must not see it.
 */
export class HubError extends Error {
  override readonly name = "HubError";
}
