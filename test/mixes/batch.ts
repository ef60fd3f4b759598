// A batch of mixes of one world, drawn from the same requests: each is computed alone once.

import { random } from "../helpers/world.ts";
import { type MixAsk, randomAsk } from "./asks.ts";
import { differenceOf, type Mix, type MixResult, type Outcome, randomMix, runMix } from "./mix.ts";
import type { Pair, World } from "./worlds.ts";

/** Requests of which the mixes of a batch are drawn. */
const ASKS = 40;
const ANSWER_MAX = 80;

export class MixBatch {
  private readonly world: World;
  private readonly pair: Pair;
  private readonly asks: readonly MixAsk[];
  private readonly wanted = new Map<MixAsk, Outcome>();

  /** The same `number` draws the same requests. */
  constructor(world: World, pair: Pair, number: number) {
    this.world = world;
    this.pair = pair;
    const below = belowOf(number + 1);
    const limits = { adapters: pair.plain.adapters.length, answerMax: ANSWER_MAX };
    this.asks = Array.from({ length: ASKS }, () => randomAsk(below, limits));
  }

  mixAt(at: number): Mix {
    return randomMix(this.asks, this.world.drafts, belowOf(1_000_003 * (at + 1)));
  }

  run(mix: Mix): MixResult {
    return runMix(this.pair.drafting, mix);
  }

  /** How the outcomes of a mix differ from those of its requests alone; undefined: not at all. */
  differenceIn({ arrivals }: Mix, { outcomes }: MixResult): string | undefined {
    const differences = arrivals.map(({ ask }, i) => {
      const outcome = outcomes[i];
      return outcome && differenceOf(outcome, this.alone(ask));
    });
    return differences.find((difference) => difference !== undefined);
  }

  private alone(ask: MixAsk): Outcome {
    const known = this.wanted.get(ask) ?? this.pair.alone(ask);
    this.wanted.set(ask, known);
    return known;
  }
}

function belowOf(seed: number): (n: number) => number {
  const chance = random(seed);
  return (n) => Math.floor(chance() * n);
}
