// The command that looks for what is newer: update.

import type { Command } from "commander";
import { defined } from "../core/defined.ts";
import type { Choose } from "./invocation.ts";
import { flagsOf, withSettings } from "./setting-flags.ts";

const UPDATE_FLAGS = ["models[].device.hf_cache", "global.token_source"];

interface UpdateOptions {
  readonly check: boolean;
  readonly models: boolean;
  readonly downgrade: boolean;
  readonly restart: boolean;
  readonly release?: string;
}

/** Adds `update`. */
export function addUpdateCommand(program: Command, choose: Choose): void {
  const update = program
    .command("update")
    .description("Install a newer signed release in place of this one; nothing looks for one by itself.")
    .option("--check", "say whether there is one; install nothing", false)
    .option("--models", "say which downloaded models the hub has newer revisions of; download nothing", false)
    .option(
      "--release <address>",
      "address or folder of releases (default: SVC_RELEASE_URL, else where this one came from)",
    )
    .option("--downgrade", "let an older release replace this one", false)
    .option("--no-restart", "do not restart the service");
  withSettings(update, UPDATE_FLAGS).action(({ release, check, models, downgrade, restart }: UpdateOptions) =>
    choose({
      command: "update",
      check,
      models,
      downgrade,
      restart,
      ...defined({ release }),
      flags: flagsOf(update),
    }),
  );
}
