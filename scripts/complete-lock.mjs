// Adds to package-lock.json the optional platform packages that npm left out because the registry mirror in use does not
// carry them. Without their entries `npm ci` refuses the lock. Run it after every change of dependencies:
//
//   node scripts/complete-lock.mjs [package-lock.json]

import { readFileSync, writeFileSync } from "node:fs";

const OS = new Set(["android", "darwin", "freebsd", "linux", "openharmony", "win32"]);
const CPU = new Set(["arm64", "x64", "ia32", "arm", "ppc64", "riscv64", "s390x"]);
const LIBC = { gnu: "glibc", gnueabihf: "glibc", musl: "musl", musleabihf: "musl" };

const file = process.argv[2] ?? "package-lock.json";
const lock = JSON.parse(readFileSync(file, "utf8"));
const { packages } = lock;
let added = 0;

for (const [path, entry] of Object.entries(packages)) {
  for (const [name, version] of Object.entries(entry.optionalDependencies ?? {})) {
    const key = `node_modules/${name}`;
    if (packages[key] !== undefined || packages[`${path}/node_modules/${name}`] !== undefined) continue;
    const words = name.split("/").pop().split("-");
    const os = words.find((word) => OS.has(word));
    const cpu = words.find((word) => CPU.has(word));
    if (os === undefined || cpu === undefined) continue; // not a platform package
    const libc = os === "linux" ? words.map((word) => LIBC[word]).find(Boolean) : undefined;
    packages[key] = {
      version,
      cpu: [cpu],
      ...(libc === undefined ? {} : { libc: [libc] }),
      dev: true,
      optional: true,
      os: [os],
    };
    added++;
  }
}

const [root, ...rest] = Object.entries(packages);
lock.packages = Object.fromEntries([root, ...rest.sort(([a], [b]) => a.localeCompare(b, "en"))]);
writeFileSync(file, `${JSON.stringify(lock, null, 2)}\n`);
console.log(`${file}: ${added} entries added`);
