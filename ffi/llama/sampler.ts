// Creates native samplers from sampling settings.

import {
  paramOf,
  SAMPLING_NAMES,
  samplingOption,
  type SamplingParams,
  usedOptions,
} from "../../src/core/sampling.ts";
import type { SamplerHandle } from "../../src/worker/text/backend.ts";
import type { Native } from "../library.ts";
import { type Handle, nativeText } from "../text.ts";

/** Parameters of one choice's sampler. */
interface SamplerSpec {
  readonly params: SamplingParams;
  /** Prompt tokens; repetition penalties count them, too. */
  readonly prompt: Int32Array;
  readonly seed: number;
  /** Choice index: each choice has its own random stream. */
  readonly choice: number;
}

/** Creates a sampler; svc_sampler_free releases it. Throws when memory is short. */
export function newSampler(
  native: Native,
  model: Handle,
  { params, prompt, seed, choice }: SamplerSpec,
): SamplerHandle {
  const columns = new Float32Array(SAMPLING_NAMES.length);
  for (const name of SAMPLING_NAMES) columns[samplingOption(name).column] = params[paramOf(name)];
  const [low, high] = [seed >>> 0, Math.floor(seed / 2 ** 32) >>> 0];
  const sampler = native.svc_sampler_new(columns, columns.length, low, high, choice);
  if (sampler === null) throw new Error(nativeText(native.svc_last_error()));
  const { logitBias, dry } = params;
  if (logitBias.length > 0) {
    const tokens = Int32Array.from(logitBias, ({ token }) => token);
    native.svc_sampler_bias(
      sampler,
      tokens.length,
      tokens,
      Float32Array.from(logitBias, ({ bias }) => bias),
    );
  }
  if (dry.multiplier > 0) {
    const breakers = Buffer.from(`${dry.sequenceBreakers.filter((text) => text !== "").join("\0")}\0\0`);
    native.svc_sampler_dry(sampler, model, dry.multiplier, dry.base, dry.allowedLength, breakers);
  }
  const countsPrompt = usedOptions(params).some((name) => samplingOption(name).countsPrompt === true);
  if (dry.multiplier > 0 || countsPrompt) native.svc_sampler_accept(sampler, prompt.length, prompt, 0);
  return BigInt(sampler) as SamplerHandle;
}
