// Signed releases whose svc is a script, with the installer of this checkout.

import { generateKeyPairSync, hash, type KeyObject, sign } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const INSTALLER = join(import.meta.dir, "../../install.sh");

/** A pair of keys as releases are signed with. */
export function releaseKeys(): { readonly key: KeyObject; readonly pem: string } {
  const { privateKey, publicKey } = generateKeyPairSync("ec", { namedCurve: "prime256v1" });
  return { key: privateKey, pem: publicKey.export({ type: "spki", format: "pem" }) };
}

/** Writes a release for this platform into a folder, which serves as its address. `says`: the version that its svc prints. */
export function writeRelease(folder: string, version: string, key: KeyObject, says = version): void {
  const name = `svc-${version}-${process.platform}-${process.arch}`;
  const tree = join(folder, name);
  mkdirSync(tree, { recursive: true });
  writeFileSync(join(tree, "svc"), `#!/bin/sh\necho svc ${says}\n`, { mode: 0o755 });
  copyFileSync(INSTALLER, join(tree, "install.sh"));
  const packed = Bun.spawnSync(["tar", "-czf", join(folder, `${name}.tar.gz`), "-C", folder, name]);
  if (!packed.success) throw new Error(packed.stderr.toString());
  const sum = hash("sha256", readFileSync(join(folder, `${name}.tar.gz`)));
  signSums(folder, `${sum}  ${name}.tar.gz\n`, key);
}

/** Signs a list of sums. */
export function signSums(folder: string, sums: string, key: KeyObject): void {
  writeFileSync(join(folder, "SHA256SUMS"), sums);
  writeFileSync(join(folder, "SHA256SUMS.sig"), sign("sha256", Buffer.from(sums), key));
}
