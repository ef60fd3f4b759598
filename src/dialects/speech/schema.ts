// The speech wire: the request. The answer is sound.

import { type Static, Type } from "@sinclair/typebox";
import { SPEECH_INPUT_CHARS_MAX } from "../shared/limits.ts";
import { orNull } from "../shared/check.ts";

const AudioResponseFormat = Type.Union(
  ["mp3", "opus", "aac", "flac", "wav", "pcm"].map((format) => Type.Literal(format)),
  {
    $id: "AudioResponseFormat",
    description:
      "`wav`: a WAV file. `pcm`: its samples alone, 16 bits, little-endian, one channel; the header " +
      "`x-audio-sample-rate` says how many a second. The others are not supported. Default `wav`.",
  },
);

const ignored = Type.Optional(Type.Unknown({ description: "Accepted, without effect." }));

export const SpeechGenerationRequest = Type.Object(
  {
    input: Type.String({
      minLength: 1,
      maxLength: SPEECH_INPUT_CHARS_MAX,
      description:
        "Text to speak. What the voice cannot read is left out; it must be able to read something.",
    }),
    model: orNull(Type.String({ description: "Model id; `default` or absent takes the speech model." })),
    response_format: orNull(AudioResponseFormat),
    voice: ignored,
    instructions: ignored,
    speed: ignored,
    stream_format: orNull(Type.Literal("audio", { description: "The only one there is." })),
  },
  {
    $id: "SpeechGenerationRequest",
    description: "Body of a speech request.",
    additionalProperties: true,
    examples: [{ model: "default", input: "Hello, how are you today?", response_format: "wav" }],
  },
);
export type SpeechGenerationRequest = Static<typeof SpeechGenerationRequest>;
