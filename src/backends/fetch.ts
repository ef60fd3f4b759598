// Fetches a back end's package with the package manager inside the runtime: it knows the registry, mirrors, proxies and
// credentials of .npmrc, and verifies the package's integrity.

import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { StartError } from "../core/start-error.ts";
import { removeTemporary, temporaryFolder } from "../core/temporary.ts";
import { type BackendKind, RELEASE } from "./catalog.ts";

/** A package in a temporary folder. The caller removes the folder. */
export interface FetchedPackage {
  readonly folder: string;
  /** The back end's library. */
  readonly library: string;
}

/** Downloads the package of a back end. Throws StartError with the package manager's reason. */
export async function fetchPackage(
  kind: BackendKind,
  environment: Readonly<Record<string, string | undefined>>,
): Promise<FetchedPackage> {
  const folder = temporaryFolder("backend");
  writeFileSync(join(folder, "package.json"), "{}");
  const words = ["add", "--ignore-scripts", "--no-progress", "--no-cache", `${kind.package}@${RELEASE}`];
  const manager = Bun.spawn([process.execPath, ...words], {
    cwd: folder,
    env: { ...environment, BUN_BE_BUN: "1" },
    stdio: ["ignore", "ignore", "pipe"],
  });
  const [text, code] = await Promise.all([new Response(manager.stderr).text(), manager.exited]);
  const library = join(folder, "node_modules", kind.package, kind.path);
  if (code === 0 && (await Bun.file(library).exists())) return { folder, library };
  removeTemporary(folder);
  const reason = text
    .split("\n")
    .findLast((line) => line.startsWith("error:"))
    ?.slice("error: ".length);
  throw new StartError(
    `${kind.package} ${RELEASE} could not be downloaded: ${reason ?? `exit code ${code}`}. Check the network and .npmrc, or use --from with the library's file.`,
  );
}
