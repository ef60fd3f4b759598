// Starts a worker from a file beside the page. The policy of the page allows no other script addresses.

interface Policies {
  createPolicy(
    name: string,
    rules: { createScriptURL(address: string): string },
  ): {
    createScriptURL(address: string): string;
  };
}

/** Name of the policy; also in src/http/ui.ts. */
const POLICY = "svc-worker";

let known: ReturnType<Policies["createPolicy"]> | undefined;

/** A module worker. `file`: a name that the bundler gave. */
export function workerFrom(file: string): Worker {
  const address = new URL(file, document.baseURI).href;
  return new Worker(policy()?.createScriptURL(address) ?? address, { type: "module" });
}

/** Undefined in browsers without Trusted Types. */
function policy(): typeof known {
  const { trustedTypes } = globalThis as { readonly trustedTypes?: Policies };
  known ??= trustedTypes?.createPolicy(POLICY, {
    createScriptURL: (address) => {
      if (address.startsWith(new URL(".", document.baseURI).href)) return address;
      throw new TypeError("workers are started from the page's own files only");
    },
  });
  return known;
}
