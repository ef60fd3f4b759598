/** Something that did not work, in words that name no address, header or token. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
}
