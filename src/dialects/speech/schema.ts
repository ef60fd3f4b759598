// Wire schema of a speech request. The answer is audio.

import { type Static, Type } from "@sinclair/typebox";
import { orNull } from "../../core/schema-fields.ts";
import { SPEECH_INPUT_CHARS_MAX } from "../shared/limits.ts";

const AudioResponseFormat = Type.Union(
  ["mp3", "opus", "aac", "flac", "wav", "pcm"].map((format) => Type.Literal(format)),
  {
    $id: "AudioResponseFormat",
    description:
      "`wav`: a WAV file. `pcm`: raw samples, 16 bits, little-endian, one channel; the header " +
      "`x-audio-sample-rate` has the sample rate. Other formats are not supported. Default `wav`.",
  },
);

const passedOn = Type.Optional(
  Type.Unknown({ description: "Passed on to upstream servers; without effect for voices of this machine." }),
);

export const SpeechGenerationRequest = Type.Object(
  {
    input: Type.String({
      minLength: 1,
      maxLength: SPEECH_INPUT_CHARS_MAX,
      description:
        "Text to speak. Characters that the voice cannot read are skipped; at least one must be readable.",
    }),
    model: orNull(Type.String({ description: "Model id; `default` or absent selects the speech model." })),
    response_format: orNull(AudioResponseFormat),
    voice: passedOn,
    instructions: passedOn,
    speed: passedOn,
    stream_format: orNull(Type.Literal("audio", { description: "The only supported value." })),
  },
  {
    $id: "SpeechGenerationRequest",
    description: "Body of a speech request.",
    additionalProperties: true,
    examples: [{ model: "default", input: "Hello, how are you today?", response_format: "wav" }],
  },
);
export type SpeechGenerationRequest = Static<typeof SpeechGenerationRequest>;

export const VoiceList = Type.Object(
  {
    voices: Type.Array(
      Type.Object({
        id: Type.String({ description: "Model id." }),
        name: Type.String({ description: "Name of the voice." }),
      }),
      { description: "The voices." },
    ),
  },
  { $id: "VoiceList", description: "Models that speak; `model` of a request selects one." },
);
export type VoiceList = Static<typeof VoiceList>;

/** The body of a list of voices. */
export function voicesBody(models: readonly string[]): VoiceList {
  return { voices: models.map((id) => ({ id, name: id })) };
}
