// The metrics and system pages open with what the server has kept of the last day.

import { expect, test } from "bun:test";
import { describeInBrowser, violations, visit } from "../helpers/browser.ts";
import { scriptedUi } from "../helpers/scripted-ui.ts";

const SLOW_MS = 60_000;

describeInBrowser("the pages about the server", () => {
  const ui = scriptedUi();

  test(
    "open with the metrics and the log of the last day",
    async () => {
      const now = Date.now() / 1000;
      const at = Array.from({ length: 100 }, (_, i) => now - (99 - i) * 600);
      const series = { svc_running_sequences: at.map((_, i) => (i < 50 ? 7 : 3)) };
      ui.route("/ui/day/metrics", () => Response.json({ at, series }));
      ui.route("/ui/day/log", () => Response.json({ lines: [{ at: now, text: "the model is loaded" }] }));
      ui.route("/metrics", () => new Response("svc_running_sequences 3\n"));
      const { page, troubles } = await visit(ui.url());
      await page.getByRole("link", { name: "Metrics" }).click();
      await page.getByLabel("Period").selectOption("1 day");
      await page.locator(".chart canvas").first().waitFor();
      expect(await page.locator(".chart").nth(1).innerText()).toContain("running 3");
      await page.getByRole("link", { name: "System" }).click();
      await page.getByLabel("Log", { exact: true }).getByText("the model is loaded").waitFor();
      const apps = page.getByRole("region", { name: "Connect your apps" });
      await apps.getByText("ANTHROPIC_BASE_URL").waitFor();
      await apps.getByText("It needs a context of about 65,536 tokens").waitFor();
      await apps.getByLabel("App").selectOption("opencode");
      await apps.getByText("~/.config/opencode/opencode.json").waitFor();
      await apps.getByText(`svc launch opencode --url ${new URL(ui.url()).origin}`).waitFor();
      expect(await apps.getByLabel("Copy code").count()).toBe(3);
      expect(await violations(page)).toEqual([]);
      expect(troubles).toEqual([]);
    },
    SLOW_MS,
  );
});
