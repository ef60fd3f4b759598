/** An MCP failure whose message contains no URL, header or token. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
}
