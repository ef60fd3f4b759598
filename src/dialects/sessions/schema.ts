// Wire schemas of exported sessions. Spec: Sessions.

import { type Static, Type } from "@sinclair/typebox";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { MESSAGES_MAX, SESSION_FILES_MAX, SESSION_MEDIA_MAX } from "../shared/limits.ts";
import { FileBody } from "../shared/agent-events.ts";
import { jsonObject } from "../shared/json-object.ts";

const SessionText = Type.Object(
  { type: Type.Literal("text"), text: Type.String({ description: "The text." }) },
  { $id: "SessionText", description: "Text of a message.", ...OPEN },
);

const SessionMedium = Type.Object(
  {
    type: Type.Union([Type.Literal("image"), Type.Literal("audio")], { description: "Kind of the medium." }),
  },
  { $id: "SessionMedium", description: "Refers to the next entry of `images` or `audios`.", ...OPEN },
);

const SessionToolCall = Type.Object(
  {
    id: orNull(Type.String({ description: "Id of the call." })),
    type: orNull(Type.Literal("function")),
    function: Type.Object(
      {
        name: Type.String({ description: "Name of the function.", minLength: 1 }),
        arguments: Type.Union([Type.String(), jsonObject("The arguments.")], {
          description: "An object, or the exact text if it is not compact JSON.",
        }),
      },
      { description: "The function that was called.", ...OPEN },
    ),
  },
  { $id: "SessionToolCall", description: "A tool call of the assistant.", ...OPEN },
);

const SessionMessage = Type.Object(
  {
    role: Type.Union(
      [
        Type.Literal("system"),
        Type.Literal("developer"),
        Type.Literal("user"),
        Type.Literal("assistant"),
        Type.Literal("tool"),
      ],
      { description: "Who wrote it." },
    ),
    content: orNull(
      Type.Union([Type.String(), Type.Array(Type.Union([SessionText, SessionMedium]))], {
        description: "Text, or an array of content parts.",
      }),
    ),
    reasoning_content: orNull(Type.String({ description: "The reasoning before the content." })),
    tool_calls: orNull(Type.Array(SessionToolCall, { description: "Calls that the answer consisted of." })),
    tool_call_id: orNull(Type.String({ description: "Id of the call." })),
    name: orNull(Type.String({ description: "Name of the tool." })),
  },
  { $id: "SessionMessage", description: "A message; includes those of server-side tool rounds.", ...OPEN },
);
export type SessionMessage = Static<typeof SessionMessage>;

/** Field with the files of the parts of one type. */
function media(type: string) {
  const description = `Base64 of the files of the parts with type \`${type}\`, in order.`;
  return orNull(Type.Array(Type.String(), { maxItems: SESSION_MEDIA_MAX, description }));
}

export const SerializedSession = Type.Object(
  {
    version: Type.Optional(Type.Literal(1, { description: "Version of the format; absent means 1." })),
    messages: Type.Array(SessionMessage, { maxItems: MESSAGES_MAX }),
    files: orNull(
      Type.Array(FileBody, {
        maxItems: SESSION_FILES_MAX,
        description: "Files of the session; files without a body are skipped on import.",
      }),
    ),
    images: media("image"),
    audios: media("audio"),
    videos: orNull(Type.Array(Type.Unknown(), { description: "Not supported: must be empty." })),
  },
  {
    $id: "SerializedSession",
    description: "A session, for import on this or another server.",
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
