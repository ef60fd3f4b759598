/** Why there are no results. The message is for the model: it names neither the query nor anything of this machine. */
export class SearchFailure extends Error {
  override readonly name = "SearchFailure";
}
