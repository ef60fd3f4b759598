// Runs the client scenarios of the official MCP conformance suite against svc's client: `npm run test:conformance`, optionally with
// `-- --only NAMES`. npm provides the suite, which is not among the packages of the project.

import { parseArgs } from "node:util";
import { join } from "node:path";

const SUITE = "@modelcontextprotocol/conformance@0.1.16";

/**
 * Not among them: elicitation, which svc does not offer; extensions that sign in without a person; and
 * `auth/2025-03-26-oauth-metadata-backcompat`, whose server names another issuer than its address (RFC 8414, 3.3), which the SDK refuses.
 */
const SCENARIOS = [
  "initialize",
  "tools_call",
  "sse-retry",
  ...[
    "metadata-default",
    "metadata-var1",
    "metadata-var2",
    "metadata-var3",
    "basic-cimd",
    "scope-from-www-authenticate",
    "scope-from-scopes-supported",
    "scope-omitted-when-undefined",
    "scope-step-up",
    "scope-retry-limit",
    "token-endpoint-auth-basic",
    "token-endpoint-auth-post",
    "token-endpoint-auth-none",
    "pre-registration",
    "2025-03-26-oauth-endpoint-fallback",
    "resource-mismatch",
    "offline-access-scope",
    "offline-access-not-supported",
  ].map((name) => `auth/${name}`),
];

const { values } = parseArgs({ options: { only: { type: "string" } } });
const wanted = SCENARIOS.filter((name) => values.only?.split(",").includes(name) ?? true);
const command = `${process.execPath} ${join(import.meta.dir, "client.ts")}`;
let failed = 0;
for (const scenario of wanted) {
  const run = Bun.spawn(
    [process.execPath, "x", "--bun", SUITE, "client", "--command", command, "--scenario", scenario],
    { stdout: "pipe", stderr: "pipe", cwd: process.env["TMPDIR"] ?? "/tmp" },
  );
  const [out, err] = await Promise.all([new Response(run.stdout).text(), new Response(run.stderr).text()]);
  const isPassed = (await run.exited) === 0 && /OVERALL: PASSED/.test(out + err);
  console.log(`${isPassed ? "passed" : "FAILED"}  ${scenario}`);
  if (isPassed) continue;
  failed++;
  console.log((out + err).split("\n").slice(-20).join("\n"));
}
console.log(`${wanted.length - failed} of ${wanted.length} scenarios passed`);
process.exit(failed === 0 ? 0 : 1);
