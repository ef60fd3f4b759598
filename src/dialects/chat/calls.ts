// Wire schemas of tool calls in chat completions: those of earlier messages, those made, and their deltas.

import { Type } from "@sinclair/typebox";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { jsonObject } from "../shared/json-object.ts";

const FunctionCalled = Type.Object(
  {
    name: Type.String({ description: "Name of the function.", minLength: 1 }),
    arguments: orNull(
      Type.Union([Type.String(), jsonObject("The arguments.")], {
        description: "The arguments as JSON text, or as an object. Absent: none.",
      }),
    ),
  },
  { $id: "FunctionCalled", description: "The function that was called.", ...OPEN },
);

const CustomCalled = Type.Object(
  {
    name: Type.String({ description: "Name of the tool.", minLength: 1 }),
    input: Type.String({ description: "What the model wrote." }),
  },
  { $id: "CustomCalled", description: "The tool that was called.", ...OPEN },
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
    id: Type.String({ description: "Id that the result has to name." }),
    type: Type.Literal("function"),
    function: Type.Object(
      {
        name: Type.String({ description: "Name of the function." }),
        arguments: Type.String({ description: "JSON text." }),
      },
      { description: "The function to call." },
    ),
  },
  { $id: "ToolCallMade", description: "A tool call requested by the model." },
);

export const CustomCallMade = Type.Object(
  {
    id: Type.String({ description: "Id that the result has to name." }),
    type: Type.Literal("custom"),
    custom: Type.Object(
      {
        name: Type.String({ description: "Name of the tool." }),
        input: Type.String({ description: "What the model wrote." }),
      },
      { description: "The tool to call." },
    ),
  },
  { $id: "CustomToolCallMade", description: "A call of a tool that takes one text." },
);

export const ToolCallDelta = Type.Object(
  {
    index: Type.Integer({ minimum: 0, description: "Position of the call in the choice." }),
    id: Type.Optional(Type.String({ description: "Id of the call, in its first part." })),
    type: Type.Optional(
      Type.Union([Type.Literal("function"), Type.Literal("custom")], {
        description: "Kind of the call, in its first part.",
      }),
    ),
    function: Type.Optional(
      Type.Object(
        {
          name: Type.Optional(Type.String({ description: "Name of the function, in the first part." })),
          arguments: Type.String({ description: "Next characters of the JSON text." }),
        },
        { description: "Next part of a function call." },
      ),
    ),
    custom: Type.Optional(
      Type.Object(
        {
          name: Type.Optional(Type.String({ description: "Name of the tool, in the first part." })),
          input: Type.String({ description: "Next characters of the input." }),
        },
        { description: "Next part of a custom call." },
      ),
    ),
  },
  {
    $id: "ToolCallDelta",
    description: "The first delta has id and name, the others parts of the arguments.",
  },
);
