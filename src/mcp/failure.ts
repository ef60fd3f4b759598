/** An MCP failure whose message contains no URL, header or token. */
export class McpFailure extends Error {
  override readonly name = "McpFailure";
  /** Whether the server refused access for lack of a valid token. */
  readonly needsToken: boolean;
  /** Whether another attempt at once would fail in the same way. */
  readonly isFinal: boolean;

  constructor(
    message: string,
    {
      needsToken = false,
      isFinal = false,
      ...options
    }: ErrorOptions & { needsToken?: boolean; isFinal?: boolean } = {},
  ) {
    super(message, options);
    this.needsToken = needsToken;
    this.isFinal = isFinal;
  }
}

/** The server no longer has the MCP session and has not executed the call. */
export class SessionLost extends Error {
  override readonly name = "SessionLost";
}
