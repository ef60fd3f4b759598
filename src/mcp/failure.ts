/** An MCP failure whose message contains no URL, header or token. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
  /** Whether the server refused access for lack of a valid token. */
  readonly needsToken: boolean;

  constructor(
    message: string,
    { needsToken = false, ...options }: ErrorOptions & { needsToken?: boolean } = {},
  ) {
    super(message, options);
    this.needsToken = needsToken;
  }
}
