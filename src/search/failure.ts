/** A failed search or page. The message is for the model and contains neither the query nor details of this machine. */
export class SearchFailure extends Error {
  override readonly name = "SearchFailure";
}
