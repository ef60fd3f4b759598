// Settings of models that other servers run: [models.routing] and [[models.upstreams]].

import { choice, entries, integer, number, optional, section, text, toggle } from "./field.ts";

/** `[models.routing]`. */
export const ModelRouting = section("How requests for an upstream model are spread over its upstreams.", {
  policy: choice(
    ["prefix", "least_busy", "round_robin"],
    "`prefix`: the upstream that has computed the longest beginning, within 1.25 times the mean load. `least_busy`: the one with the fewest requests by weight.",
    { default: "prefix", flag: false },
  ),
  first_token_timeout: number("Seconds until an upstream must have sent the first event of an answer.", {
    default: 60,
    exclusiveMinimum: 0,
    maximum: 3600,
    flag: false,
  }),
  retries: integer("Further attempts of a request that no upstream has begun to answer.", {
    default: 2,
    minimum: 0,
    maximum: 10,
    flag: false,
  }),
  cooldown: number("Seconds without requests for an upstream that has failed; then one request tries it.", {
    default: 30,
    exclusiveMinimum: 0,
    maximum: 3600,
    flag: false,
  }),
  max_queue: integer("Requests that wait while all upstreams are at max_inflight; beyond it: 429.", {
    default: 256,
    minimum: 0,
    maximum: 65_536,
    flag: false,
  }),
});

/** `[[models.upstreams]]`. */
export const Upstreams = entries('Servers that run the model. Only with kind = "upstream".', {
  url: text("Base address of an OpenAI-compatible API, with its version.", {
    flag: false,
    example: "http://gpu1:8000/v1",
    form: {
      pattern: "^https?://[^\\s@?#]+$",
      words: "an http or https address without user, query or fragment",
    },
  }),
  model: optional(
    text("Name of the model there; unset: model_id.", { flag: false, example: "Qwen/Qwen3-32B" }),
  ),
  key: optional(
    text("Where the API key comes from: env:NAME, path:FILE or literal:KEY. Never shown.", {
      flag: false,
      example: "env:GPU1_KEY",
      secretAfter: "literal:",
    }),
  ),
  weight: number("Share of the load, relative to the other upstreams.", {
    default: 1,
    exclusiveMinimum: 0,
    maximum: 1000,
    flag: false,
  }),
  max_inflight: optional(
    integer("Requests in flight at the same time; unset: as many as come.", {
      minimum: 1,
      maximum: 65_536,
      flag: false,
      example: 64,
    }),
  ),
  probe: toggle(
    "Ask for one token at the start and when the upstream comes back, which may cost money. Only for text models.",
    { flag: false },
  ),
});
