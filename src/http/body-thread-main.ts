// Entry point of the thread of large bodies.

import { parentPort } from "node:worker_threads";
import { answerJob, type BodyJob } from "./body-thread.ts";

parentPort?.on("message", (job: BodyJob) => parentPort?.postMessage(answerJob(job), []));
