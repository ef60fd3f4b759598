// docs/clients.md shows the configurations that the ring uses.

import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { withConfigurations } from "./document.ts";

test("the page shows the configurations that were run", () => {
  const page = readFileSync(new URL("../../docs/clients.md", import.meta.url), "utf8");
  expect(withConfigurations(page)).toBe(page);
});
