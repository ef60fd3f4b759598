// A session as it travels between servers. Spec: Sessions.

import { type Static, Type } from "@sinclair/typebox";
import { MESSAGES_MAX, SESSION_FILES_MAX, SESSION_MEDIA_MAX } from "../shared/limits.ts";
import { FileBody } from "../shared/agent-events.ts";
import { orNull } from "../shared/check.ts";

const OPEN = { additionalProperties: true } as const;

const SessionText = Type.Object(
  { type: Type.Literal("text"), text: Type.String() },
  { $id: "SessionText", ...OPEN },
);

const SessionMedium = Type.Object(
  { type: Type.Union([Type.Literal("image"), Type.Literal("audio")]) },
  { $id: "SessionMedium", description: "Stands for the next one of `images` or `audios`.", ...OPEN },
);

const SessionToolCall = Type.Object(
  {
    id: orNull(Type.String()),
    type: orNull(Type.Literal("function")),
    function: Type.Object(
      {
        name: Type.String({ minLength: 1 }),
        arguments: Type.Union([Type.String(), Type.Record(Type.String(), Type.Unknown())], {
          description: "An object, or the text where it is no JSON of the usual form.",
        }),
      },
      OPEN,
    ),
  },
  { $id: "SessionToolCall", ...OPEN },
);

const SessionMessage = Type.Object(
  {
    role: Type.Union([
      Type.Literal("system"),
      Type.Literal("developer"),
      Type.Literal("user"),
      Type.Literal("assistant"),
      Type.Literal("tool"),
    ]),
    content: orNull(Type.Union([Type.String(), Type.Array(Type.Union([SessionText, SessionMedium]))])),
    reasoning_content: orNull(Type.String()),
    tool_calls: orNull(Type.Array(SessionToolCall)),
    tool_call_id: orNull(Type.String()),
    name: orNull(Type.String()),
  },
  { $id: "SessionMessage", description: "A message, tool turns of the server included.", ...OPEN },
);
export type SessionMessage = Static<typeof SessionMessage>;

/** The bytes for the parts of one kind. */
function media(type: string) {
  const description = `Base64 of the files that the parts of the type \`${type}\` stand for, in their order.`;
  return orNull(Type.Array(Type.String(), { maxItems: SESSION_MEDIA_MAX, description }));
}

export const SerializedSession = Type.Object(
  {
    version: Type.Optional(Type.Literal(1, { description: "Of this format; absent means 1." })),
    messages: Type.Array(SessionMessage, { maxItems: MESSAGES_MAX }),
    files: orNull(
      Type.Array(FileBody, {
        maxItems: SESSION_FILES_MAX,
        description: "Files of the session; those without a body are left out when it is imported.",
      }),
    ),
    images: media("image"),
    audios: media("audio"),
    videos: orNull(Type.Array(Type.Unknown(), { description: "Not kept by this server: must be empty." })),
  },
  {
    $id: "SerializedSession",
    description: "A session, to be continued here or elsewhere.",
    ...OPEN,
    examples: [
      {
        version: 1,
        messages: [
          { role: "user", content: "My name is Ada." },
          { role: "assistant", content: "Hello, Ada." },
        ],
      },
    ],
  },
);
export type SerializedSession = Static<typeof SerializedSession>;
