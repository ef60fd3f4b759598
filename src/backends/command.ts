// Arguments of `svc backend`.

import type { BackendKind } from "./catalog.ts";

export type BackendCommand =
  | { readonly action: "list" }
  /** `from`: the back end's library, instead of a download. `index`: address of a Python package index for the vendor's libraries. */
  | {
      readonly action: "install";
      readonly kind: BackendKind;
      readonly from?: string;
      readonly index?: string;
    }
  | { readonly action: "remove"; readonly kind: BackendKind }
  | { readonly action: "test"; readonly kind: BackendKind };
