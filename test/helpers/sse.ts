// A strict parser of server-sent events: anything the format leaves to a lenient reader is an error here.

export interface SseEvent {
  /** Name of the event; "message" when the stream gives none. */
  readonly event: string;
  readonly data: string;
}

export interface SseText {
  readonly events: readonly SseEvent[];
  readonly comments: readonly string[];
}

/** Parses a whole stream; throws on a cut frame, an unknown field or an empty frame. */
export function parseSse(text: string): SseText {
  if (text !== "" && !text.endsWith("\n\n"))
    throw new Error(`the stream breaks off inside a frame: …${text.slice(-80)}`);
  const events: SseEvent[] = [];
  const comments: string[] = [];
  for (const frame of text.split("\n\n").slice(0, -1)) {
    const lines = frame.split("\n");
    if (lines.every((line) => line.startsWith(":"))) {
      comments.push(...lines);
      continue;
    }
    events.push(parseFrame(lines));
  }
  return { events, comments };
}

function parseFrame(lines: readonly string[]): SseEvent {
  let event = "message";
  const data: string[] = [];
  for (const line of lines) {
    if (line.startsWith("data: ")) data.push(line.slice("data: ".length));
    else if (line.startsWith("event: ")) event = line.slice("event: ".length);
    else throw new Error(`not a line of an event: ${JSON.stringify(line)}`);
  }
  if (data.length === 0) throw new Error("a frame without data");
  return { event, data: data.join("\n") };
}

/** The JSON payloads of a stream that must end with exactly one `[DONE]`. */
export function parseDoneStream(text: string): readonly unknown[] {
  const { events } = parseSse(text);
  const payloads = events.map(({ data }) => data);
  if (payloads.indexOf("[DONE]") !== payloads.length - 1) throw new Error("[DONE] is not the one last frame");
  return payloads.slice(0, -1).map((data) => JSON.parse(data));
}
