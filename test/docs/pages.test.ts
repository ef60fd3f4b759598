// The index of the documentation, and links between pages.

import { expect, test } from "bun:test";
import { existsSync, globSync, readFileSync } from "node:fs";
import { dirname, join, relative, resolve } from "node:path";

const ROOT = resolve(import.meta.dir, "../..");
const PAGES = ["README.md", "SECURITY.md", ...globSync("docs/*.md", { cwd: ROOT })].toSorted();

/** Anchors of a page's headings, as GitHub makes them. */
function anchorsOf(file: string): readonly string[] {
  return [...readFileSync(file, "utf8").matchAll(/^#+ (.*)$/gm)].map(([, heading = ""]) =>
    heading
      .replaceAll(/\[([^\]]*)\]\([^)]*\)/g, "$1")
      .toLowerCase()
      .replaceAll(/[^\w\- ]/g, "")
      .replaceAll(" ", "-"),
  );
}

test("docs/README.md lists every page, and links of all pages lead to files and headings", () => {
  const index = readFileSync(join(ROOT, "docs/README.md"), "utf8");
  const pages = PAGES.filter((page) => page.startsWith("docs/") && page !== "docs/README.md");
  expect(pages.filter((page) => !index.includes(`](${relative("docs", page)})`))).toEqual([]);
  const links = ["AGENTS.md", "ARCHITECTURE.md", "CHANGELOG.md", "CONTRIBUTING.md", ...PAGES].flatMap(
    (page) =>
      [...readFileSync(join(ROOT, page), "utf8").matchAll(/\]\(([^)\s]+)\)/g)]
        .map(([, target = ""]) => ({ page, target }))
        .filter(({ target }) => !/^[a-z]+:/.test(target)),
  );
  const broken = links.filter(({ page, target }) => {
    const [path = "", anchor] = target.split("#");
    const file = path === "" ? join(ROOT, page) : resolve(ROOT, dirname(page), path);
    return !existsSync(file) || (anchor !== undefined && !anchorsOf(file).includes(anchor));
  });
  expect(broken).toEqual([]);
  expect(links.length).toBeGreaterThan(80);
});

test("no page holds the marks of an unresolved merge", () => {
  const pages = [
    "AGENTS.md",
    "ARCHITECTURE.md",
    "CHANGELOG.md",
    ...globSync("docs/**/*.md", { cwd: ROOT }),
    ...PAGES,
  ];
  const unresolved = pages.filter((page) => /^(?:<{7}|>{7}) /m.test(readFileSync(join(ROOT, page), "utf8")));
  expect(unresolved).toEqual([]);
});
