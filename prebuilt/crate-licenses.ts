// Collects the licences of the crates linked into a native library:
//
//   bun prebuilt/crate-licenses.ts CRATE_DIR OUTPUT
//
// Names, versions and licence expressions come from `cargo metadata`, the texts from the crates' own files. Crates that
// only run while building (procedural macros, build scripts) are not part of the library and not listed.

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";

interface Package {
  readonly id: string;
  readonly name: string;
  readonly version: string;
  readonly license: string | null;
  readonly manifest_path: string;
  readonly targets: readonly { readonly kind: readonly string[] }[];
}

interface Node {
  readonly id: string;
  readonly deps: readonly {
    readonly pkg: string;
    readonly dep_kinds: readonly { readonly kind: string | null; readonly target: string | null }[];
  }[];
}

interface Metadata {
  readonly packages: readonly Package[];
  readonly resolve: { readonly root: string; readonly nodes: readonly Node[] };
}

function metadata(crateDir: string): Metadata {
  const args = ["metadata", "--format-version=1", "--locked", "--manifest-path", join(crateDir, "Cargo.toml")];
  const host = /^host: (.*)$/m.exec(Bun.spawnSync(["rustc", "-vV"]).stdout.toString())?.[1] ?? "";
  const { stdout, exitCode } = Bun.spawnSync(["cargo", ...args, "--filter-platform", host], {
    stderr: "inherit",
  });
  if (exitCode !== 0) throw new Error("cargo metadata failed");
  return JSON.parse(stdout.toString());
}

/** The crates whose code ends up in the library, without the library itself. */
function linked({ packages, resolve }: Metadata): readonly Package[] {
  const nodes = new Map(resolve.nodes.map((node) => [node.id, node]));
  const byId = new Map(packages.map((item) => [item.id, item]));
  const seen = new Set<string>();
  const visit = (id: string): void => {
    if (seen.has(id)) return;
    seen.add(id);
    for (const { pkg, dep_kinds } of nodes.get(id)?.deps ?? []) {
      const macro = byId.get(pkg)?.targets.some(({ kind }) => kind.includes("proc-macro")) ?? false;
      if (!macro && dep_kinds.some(({ kind }) => kind === null)) visit(pkg);
    }
  };
  visit(resolve.root);
  seen.delete(resolve.root);
  return packages.filter(({ id }) => seen.has(id)).sort((a, b) => a.name.localeCompare(b.name, "en"));
}

/** Licence files of a crate; where it offers a choice, the MIT text alone. */
function texts(item: Package): readonly string[] {
  const dir = dirname(item.manifest_path);
  const all = readdirSync(dir).filter((name) => /^(licen[cs]e|copying|notice|unlicense)/i.test(name));
  const mit = all.filter((name) => /mit/i.test(name));
  const chosen = item.license?.includes(" OR ") === true && mit.length > 0 ? mit : all;
  return chosen.map((name) => join(dir, name)).filter((path) => existsSync(path) && !basename(path).endsWith(".rs"));
}

function main(): void {
  const [crateDir, output] = process.argv.slice(2);
  if (crateDir === undefined || output === undefined) {
    throw new Error("usage: bun prebuilt/crate-licenses.ts CRATE_DIR OUTPUT");
  }
  const crates = linked(metadata(crateDir));
  const owners = new Map<string, string[]>(); // licence text → crates, as most share one
  for (const item of crates) {
    const name = `${item.name} ${item.version} (${item.license ?? "see below"})`;
    const files = texts(item).map((path) => readFileSync(path, "utf8").replaceAll("\r\n", "\n").trim());
    for (const text of files) owners.set(text, [...(owners.get(text) ?? []), name]);
    if (files.length === 0) owners.set("", [...(owners.get("") ?? []), name]);
  }
  // Part of every Rust program, though no dependency of it: offered under MIT as well.
  const mit = [...owners.keys()].find((text) => text.startsWith("Permission is hereby granted"));
  if (mit === undefined) throw new Error("none of the crates has the plain MIT text");
  owners.get(mit)?.push("the Rust standard library, Copyright (c) The Rust Project Contributors (MIT OR Apache-2.0)");
  const rule = "-".repeat(78);
  const parts = ["Crates linked into libsvc_grammar.so and their licences.", ""];
  for (const [text, names] of owners) {
    parts.push(rule, ...names, rule, "", text === "" ? "Comes without a licence text of its own." : text, "");
  }
  writeFileSync(output, `${parts.join("\n")}\n`);
  console.log(`${basename(output)}: ${crates.length} crates`);
}

main();
