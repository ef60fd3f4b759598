// What the official clients have in common, so that one suite can ask the same of all of them.

/** One answer, as a client's own classes hold it. */
export interface Said {
  readonly text: string;
  readonly calls: readonly { readonly name: string; readonly args: unknown }[];
  /** Why the answer ended, in the words of chat completions. */
  readonly reason: string;
  readonly inputTokens: number | undefined;
  readonly outputTokens: number | undefined;
}

/** How to ask. Everything is asked at temperature 0. */
export interface Asking {
  /** Through the client's streaming interface. */
  readonly stream: boolean;
  /** Offers WEATHER; `required`: it must be called. */
  readonly tools?: "auto" | "required";
  /** Cap on the tokens of the answer. */
  readonly maxTokens?: number;
}

/** A client, bound to a server's default model. */
export interface OfficialClient {
  /** Asks one user message. */
  ask(prompt: string, asking: Asking): Promise<Said>;
  /** Asks with WEATHER, runs what is called, and asks again with its result; what is said then. */
  roundTrip(prompt: string, stream: boolean): Promise<Said>;
  /** The value that the client has read from an answer held to a JSON schema. */
  structured(prompt: string, schema: Readonly<Record<string, unknown>>, stream: boolean): Promise<unknown>;
  /** Continues a text. */
  complete(prompt: string, maxTokens: number, stream: boolean): Promise<string>;
  embed(texts: readonly string[]): Promise<readonly (readonly number[])[]>;
}

/** What there is in dialects of conversations only. */
export type ChatClient = Omit<OfficialClient, "complete" | "embed">;

/** The tool that is offered. */
export const WEATHER = {
  name: "get_weather",
  description: "Get the weather of a city",
  parameters: { type: "object", properties: { city: { type: "string" } }, required: ["city"] },
  /** What it answers. */
  run: ({ city }: { readonly city: string }) => `sunny in ${city}`,
} as const;
