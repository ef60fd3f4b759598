// Checks that a context computes rows alike in every batch (`determinism = "batch-invariant"`).

import { ServiceError } from "../../src/core/error.ts";
import { describeHost } from "../host.ts";
import type { Native } from "../library.ts";
import { type Handle, takeText } from "../text.ts";

/** Throws ServiceError(model_unavailable) with what is in the way. Computes a few rows; the cache is empty afterwards. */
export function requireInvariance(native: Native, context: Handle, hasMedia: boolean): void {
  const variance = hasMedia ? "images and audio" : varianceOf(native, context);
  if (variance === "") return;
  const message = `determinism = "batch-invariant" is not possible for this model on this machine: its answers would depend on other requests because of ${variance}; use another model, or determinism = "off"`;
  throw new ServiceError("model_unavailable", message);
}

/** Throws ServiceError(unsupported_capability) where vectors or scores would depend on other requests; frees the context then. */
export function requireInvariantVectors(native: Native, context: Handle): void {
  const variance = varianceOf(native, context);
  if (variance === "") return;
  native.svc_context_free(context);
  const message = `on this server, with determinism = "batch-invariant", this model computes no vectors or scores: they would depend on other requests because of ${variance}; use another model, or a server with determinism = "off"`;
  throw new ServiceError("unsupported_capability", message, { param: "model" });
}

function varianceOf(native: Native, context: Handle): string {
  // On arm64 attention would do, but upstream's products compute two rows in another way than one.
  if (process.arch !== "x64" || !describeHost(native).kernels.includes("attention"))
    return "kernels that need AVX2 and are not switched off by SVC_KERNELS";
  return takeText(native, native.svc_context_variance(context));
}
