// Arguments of `svc backend`.

import type { BackendKind } from "./catalog.ts";

export type BackendCommand =
  | { readonly action: "list" }
  /** `from`: the back end's library, instead of a download. */
  | { readonly action: "install"; readonly kind: BackendKind; readonly from?: string }
  | { readonly action: "remove"; readonly kind: BackendKind }
  | { readonly action: "test"; readonly kind: BackendKind };
