// Arguments of `svc backend`.

import type { BackendKind } from "./catalog.ts";

export type BackendCommand =
  | { readonly action: "list" }
  /**
   * `from`: the back end's library, instead of a download. `release`: address or folder of a signed release with libraries. `index`: address
   * of a Python package index for the vendor's libraries.
   */
  | {
      readonly action: "install";
      readonly kind: BackendKind;
      readonly from?: string;
      readonly release?: string;
      readonly index?: string;
    }
  | { readonly action: "remove"; readonly kind: BackendKind }
  | { readonly action: "test"; readonly kind: BackendKind };
