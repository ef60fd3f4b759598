// The place that this svc is installed in, and how a release takes it: by the release's own install.sh, from an archive whose sum was
// signed. That script replaces by a rename and refuses an older release, too.

import { existsSync, realpathSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, dirname, join } from "node:path";
import { textIn } from "../core/readable.ts";
import { reasonOf } from "../core/reason.ts";
import { runProgram } from "../core/run-program.ts";
import { deadTemporaries, temporaryFolder } from "../core/temporary.ts";
import { downloadArchive, type ReleaseArchive, type ReleasePlace } from "./release.ts";

/** An installation that `svc update` can replace. */
export interface Installation {
  /** The executable. */
  readonly program: string;
  readonly prefix: string;
}

/** What install.sh has left of the release's address and key. */
const ADDRESS_FILE = "share/svc/release.url";
const KEY_FILE = "share/svc/release.pem";

/** The installation of this executable. Throws a sentence that says how to update another kind of it. */
export function installationOf(executable: string): Installation {
  const program = realpathSync(executable);
  const folder = dirname(program);
  if (/\/Cellar\//.test(program)) throw new Error("Homebrew has installed this svc; use brew upgrade svc");
  if (program === "/usr/bin/svc")
    throw new Error(
      "a package has installed this svc; install the release's .deb: apt install ./svc_VERSION_ARCH.deb",
    );
  if (existsSync(join(folder, "package.json")))
    throw new Error(
      "this svc was built from a source checkout; update that (git pull), and run ./install.sh",
    );
  if (basename(program) !== "svc" || basename(folder) !== "bin")
    throw new Error(
      `${program} was not installed by install.sh; run the release's: curl -fsSL ADDRESS/install.sh | sh`,
    );
  return { program, prefix: dirname(folder) };
}

/** Where the releases of an installation are: as named, else as install.sh has noted. Throws a sentence for people. */
export function releasePlace(
  { prefix }: Installation,
  named: { readonly address: string | undefined; readonly keyFile: string | undefined },
): ReleasePlace {
  const address = (named.address ?? textIn(join(prefix, ADDRESS_FILE))).replace(/\/$/, "");
  if (address === "")
    throw new Error(
      "no address of releases is known; name one: svc update --release ADDRESS, or SVC_RELEASE_URL",
    );
  if (/^(?!https?:|file:)[a-z][a-z0-9+.-]*:\/\//i.test(address))
    throw new Error(
      `${address.replace(/:.*/s, "")} is no protocol that releases come by; name the address of one with https or http, or a folder`,
    );
  const key = textIn(named.keyFile ?? join(prefix, KEY_FILE));
  if (key === "")
    throw new Error(
      `the public key of releases ${named.keyFile === undefined ? "is not known" : `cannot be read from ${named.keyFile}`}; name its file in SVC_RELEASE_KEY`,
    );
  return { address: address.replace(/^file:\/\//, ""), key };
}

export interface InstallWork {
  readonly place: ReleasePlace;
  readonly archive: ReleaseArchive;
  readonly installation: Installation;
  readonly mayDowngrade: boolean;
  readonly signal: AbortSignal;
}

/** Downloads, checks and installs a release. Returns what its installer says. Throws a sentence for people. */
export async function installRelease(work: InstallWork): Promise<string> {
  const { place, archive, installation, mayDowngrade, signal } = work;
  for (const left of deadTemporaries()) rmSync(left, { recursive: true, force: true }); // by updates that were killed
  const folder = temporaryFolder("update");
  try {
    const file = join(folder, archive.name);
    await downloadArchive(place, archive, file, signal);
    await run(["tar", "-xzf", file, "-C", folder], signal);
    const source = join(folder, archive.name.replace(/\.tar\.gz$/, ""));
    const own = (await firstRun(join(source, "svc"), signal)).trim();
    if (own !== `svc ${archive.version}`)
      throw new Error(`${archive.name} holds ${own === "" ? "no svc" : own}: nothing was changed`);
    const options = ["--prefix", installation.prefix, ...(mayDowngrade ? ["--downgrade"] : [])];
    return await run(["sh", join(source, "install.sh"), ...options], signal);
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}

/** Its version. A folder for temporary files may forbid programs. */
async function firstRun(program: string, signal: AbortSignal): Promise<string> {
  try {
    return await run([program, "--version"], signal);
  } catch (error) {
    signal.throwIfAborted();
    throw new Error(
      `the new svc does not run here, so nothing was changed: ${reasonOf(error)}. Where ${tmpdir()} forbids programs (noexec), name another folder in TMPDIR`,
      { cause: error },
    );
  }
}

/** Output of a program. Throws what it complained of. */
async function run(words: readonly string[], signal: AbortSignal): Promise<string> {
  const { out, err, code } = await runProgram(words, signal);
  if (code === 0) return out;
  throw new Error(err.trim() === "" ? `${basename(words[0] ?? "")} ended with ${code}` : err.trim());
}
