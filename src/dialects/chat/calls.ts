// Wire schemas of tool calls in chat completions: those of earlier messages, those made, and their deltas.

import { Type } from "@sinclair/typebox";
import { orNull } from "../shared/check.ts";
import { jsonObject } from "../shared/json-object.ts";

const OPEN = { additionalProperties: true } as const;

const FunctionCalled = Type.Object(
  {
    name: Type.String({ minLength: 1 }),
    arguments: orNull(
      Type.Union([Type.String(), jsonObject("The arguments.")], {
        description: "The arguments as JSON text, or as an object. Absent: none.",
      }),
    ),
  },
  { $id: "FunctionCalled", ...OPEN },
);

const CustomCalled = Type.Object(
  { name: Type.String({ minLength: 1 }), input: Type.String({ description: "What the model wrote." }) },
  { $id: "CustomCalled", ...OPEN },
);

const callId = orNull(Type.String({ description: "Referred to by `tool_call_id` of the tool message." }));

export const ToolCall = Type.Object(
  { id: callId, type: Type.Literal("function", { description: "Optional." }), function: FunctionCalled },
  { $id: "ToolCall", description: "An earlier tool call of the assistant.", ...OPEN },
);

export const CustomToolCall = Type.Object(
  { id: callId, type: Type.Literal("custom"), custom: CustomCalled },
  { $id: "CustomToolCall", description: "An earlier call of a tool that takes text.", ...OPEN },
);

export const ToolCallMade = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal("function"),
    function: Type.Object({ name: Type.String(), arguments: Type.String({ description: "JSON text." }) }),
  },
  { $id: "ToolCallMade", description: "A tool call requested by the model." },
);

export const CustomCallMade = Type.Object(
  {
    id: Type.String(),
    type: Type.Literal("custom"),
    custom: Type.Object({
      name: Type.String(),
      input: Type.String({ description: "What the model wrote." }),
    }),
  },
  { $id: "CustomToolCallMade", description: "A call of a tool that takes one text." },
);

export const ToolCallDelta = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: "Position of the call in the choice." }),
    id: Type.Optional(Type.String()),
    type: Type.Optional(Type.Union([Type.Literal("function"), Type.Literal("custom")])),
    function: Type.Optional(Type.Object({ name: Type.Optional(Type.String()), arguments: Type.String() })),
    custom: Type.Optional(Type.Object({ name: Type.Optional(Type.String()), input: Type.String() })),
  },
  {
    $id: "ToolCallDelta",
    description: "The first delta has id and name, the others parts of the arguments.",
  },
);
