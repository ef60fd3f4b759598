import type { ModelInfo } from "../../src/core/model-info.ts";

/** A loaded model of texts. */
export function modelInfo(id: string, more: Partial<ModelInfo> = {}): ModelInfo {
  return { id, kind: "text", created: 1, ownedBy: "svc", status: "loaded", ...more };
}
