// Note about the model at the start of a chat: its name, context, media, and whether it is the toy model.

import type { ChatModel } from "../../core/model-info.ts";

/** Id of the built-in model, which config knows as BUILTIN_MODEL_ID. */
const TOY = "svc-tiny";

const BASE =
  "It has no chat template, so it is probably a base model: it continues your text, and was trained neither to answer nor to stop.";

/** Lines that introduce a model; `where` names the server that runs it. */
export function modelNote(model: ChatModel, where?: string): string {
  const { id, contextTokens, modalities = [], thinks, isBase = false } = model;
  const facts = [
    ...(contextTokens === undefined ? [] : [`${contextTokens} tokens of context`]),
    ...modalities.map((modality) => `takes ${modality === "image" ? "images" : modality}`),
    ...(thinks === true ? ["thinks (/think off)"] : []),
  ];
  const note = facts.length === 0 ? "" : ` (${facts.join(", ")})`;
  const place = where === undefined ? "" : `, served at ${where}`;
  const toy =
    id === TOY
      ? "This is the built-in toy model: it can copy, count, add small numbers and name some capitals.\n" +
        "Chat with a real model: svc run -m Qwen/Qwen3-4B-GGUF:Q4_K_M\n"
      : "";
  const base = isBase ? `${BASE}\n` : "";
  return `Chatting with ${id}${note}${place}. /help lists the commands.\n${toy}${base}`;
}
