// SIGHUP: keys, names of models and the access log change while the server runs; nothing else does.

import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { newFolder, startServer } from "../helpers/binary.ts";
import { until } from "../helpers/until.ts";

const toml = (server: string, rest = ""): string =>
  `[server]\nport = 0\n${server}\n${rest}\n[[models]]\nmodel_id = "svc-tiny"\n`;

test("what can be read anew is taken over and named; a broken file changes nothing", async () => {
  const file = join(newFolder(), "svc.toml");
  writeFileSync(file, toml('api_keys = ["old"]'));
  const server = await startServer([file]);
  await server.says("Ready.");
  const models = async (key: string): Promise<number> =>
    (await fetch(`${server.url}/v1/models`, { headers: { "x-api-key": key } })).status;
  const ask = async (key: string, model: string): Promise<number> => {
    const body = JSON.stringify({ model, messages: [{ role: "user", content: "Hi" }], max_tokens: 1 });
    return (
      await fetch(`${server.url}/v1/chat/completions`, {
        method: "POST",
        body,
        headers: { "x-api-key": key },
      })
    ).status;
  };
  expect([await models("old"), await models("new"), await ask("old", "gpt-4")]).toEqual([200, 401, 404]);

  const aliases = '[[aliases]]\nname = "gpt-*"\nmodel = "default"';
  writeFileSync(file, toml('api_keys = ["new"]\ndisable_access_log = true\nqueue_max = 7', aliases));
  server.kill("SIGHUP");
  await server.says("SIGHUP: changed server.api_keys, server.disable_access_log, aliases.");
  await server.says("SIGHUP: restart to change server.queue_max.");
  const logged = server.stderr().length;
  expect([await models("old"), await models("new"), await ask("new", "gpt-4")]).toEqual([401, 200, 200]);
  expect(server.stderr().slice(logged)).not.toContain("/v1/models");

  writeFileSync(file, "[server\n");
  server.kill("SIGHUP");
  await server.says("SIGHUP: nothing changed.");
  expect(await models("new")).toBe(200);

  writeFileSync(file, toml(""));
  server.kill("SIGHUP");
  await until("it is read", () => server.stderr().split("SIGHUP: ").length > 4);
  expect(await models("none")).toBe(401); // that keys are needed does not end so
});
