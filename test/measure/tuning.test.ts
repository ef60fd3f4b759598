import { expect, test } from "bun:test";
import type { ServiceError } from "../../src/core/error.ts";
import type { TuneReport } from "../../src/core/measure.ts";
import { Tuning, type TuningDeps } from "../../src/measure/tuning.ts";

const REPORT: TuneReport = {
  model_id: "m",
  profile: "balanced",
  measurements: [],
  recommended: { threads: 1, threads_batch: 1, ubatch: 512, max_seqs: 1 },
  toml: "",
  undecided: [],
  complete: true,
  disturbed: false,
};
const client = new AbortController().signal;

function tuning(deps: Partial<TuningDeps> = {}): { readonly tuning: Tuning; readonly logged: string[] } {
  const logged: string[] = [];
  const idle = new AbortController().signal;
  const all = {
    tune: async () => REPORT,
    isBusy: () => false,
    stopping: idle,
    log: (line: string) => void logged.push(line),
    ...deps,
  };
  return { tuning: new Tuning(all), logged };
}

const codeOf = (work: Promise<unknown>): Promise<string> =>
  work.then(
    () => "no error",
    (error: ServiceError) => error.code,
  );

test("one tuning at a time, and the next after its end", async () => {
  const first = Promise.withResolvers<TuneReport>();
  const { tuning: one } = tuning({ tune: () => first.promise });
  const running = one.run("m", "balanced", client);
  expect(await codeOf(one.run("m", "balanced", client))).toBe("tuning_conflict");
  first.resolve(REPORT);
  expect(await running).toBe(REPORT);
  expect(await one.run("m", "balanced", client)).toBe(REPORT);
});

test("rejected while requests run", async () => {
  expect(await codeOf(tuning({ isBusy: () => true }).tuning.run("m", "balanced", client))).toBe(
    "tuning_conflict",
  );
});

test("the reason of a failure is logged only; another tuning can follow", async () => {
  let isBroken = true;
  const { tuning: one, logged } = tuning({
    tune: async () => {
      if (isBroken) throw new Error("/secret/model.gguf is damaged");
      return REPORT;
    },
  });
  const error = await one.run("m", "balanced", client).catch((reason: ServiceError) => reason);
  expect(error).toMatchObject({ code: "model_unavailable", message: expect.not.stringContaining("secret") });
  expect(logged).toEqual(["m: tuning failed: /secret/model.gguf is damaged"]);
  isBroken = false;
  expect(await one.run("m", "balanced", client)).toBe(REPORT);
});

test("a stopping server is a separate error", async () => {
  const stopping = AbortSignal.abort();
  const tune = async (): Promise<TuneReport> => {
    throw new Error("aborted");
  };
  expect(await codeOf(tuning({ tune, stopping }).tuning.run("m", "balanced", client))).toBe("shutting_down");
});
