// Speech requests, synthesized round-robin, one piece at a time: each gets its first audio early, and none runs far ahead
// of its reader (backpressure). Knows neither the process nor the library.

import { itemAt } from "../../core/assert.ts";
import { ServiceError } from "../../core/error.ts";
import { SPEECH_AHEAD, SPEECH_SILENCE_PEAK } from "../shared/limits.ts";
import type { SpeakRequest, SpeechEvent } from "../../core/speech.ts";
import type { RunId } from "../../engine/protocol.ts";
import { toErrorData } from "../shared/error-data.ts";
import type { SpeechBackend } from "./backend.ts";
import { piecesOf } from "./pieces.ts";
import type { Reading } from "./reading.ts";

/** A request. */
interface Job {
  readonly id: RunId;
  readonly pieces: readonly string[];
  /** The voice that the client named. */
  readonly voice: string | undefined;
  /** Pieces synthesized so far. */
  spoken: number;
  /** Pieces that may be synthesized before the reader takes another. */
  wanted: number;
  /** Audio was sent; silence before it is dropped. */
  hasSent: boolean;
}

export class Speaker {
  private readonly voice: SpeechBackend;
  private readonly reading: Reading;
  private readonly emit: (id: RunId, event: SpeechEvent) => void;
  private jobs: readonly Job[] = []; // next first
  /** The one of which a piece is being synthesized; not among `jobs`. */
  private current: Job | undefined;

  constructor(voice: SpeechBackend, reading: Reading, emit: (id: RunId, event: SpeechEvent) => void) {
    this.voice = voice;
    this.reading = reading;
    this.emit = emit;
  }

  add(id: RunId, { text, voice }: Pick<SpeakRequest, "text" | "voice">): void {
    try {
      const pieces = piecesOf(this.reading.readable(text)).filter((piece) => this.reading.isAudible(piece));
      this.jobs = [...this.jobs, { id, pieces, voice, spoken: 0, wanted: SPEECH_AHEAD, hasSent: false }];
    } catch (error) {
      this.emit(id, { type: "error", error: toErrorData(error) });
    }
  }

  /** The reader of a request has taken a piece. Ignores unknown ids. */
  more(id: RunId): void {
    const job = [...this.jobs, this.current].find((entry) => entry?.id === id);
    if (job !== undefined) job.wanted++;
  }

  /** Drops a request. Ignores unknown ids. */
  abort(id: RunId): void {
    this.jobs = this.jobs.filter((job) => job.id !== id);
    if (this.current?.id === id) this.current = undefined;
  }

  /** Synthesizes one piece. False: there is no work. */
  async step(): Promise<boolean> {
    const job = this.jobs.find(({ wanted }) => wanted > 0);
    if (job === undefined) return false;
    this.jobs = this.jobs.filter((other) => other !== job);
    this.current = job;
    try {
      const samples = await this.voice.say(itemAt(job.pieces, job.spoken++), job.voice);
      const isWanted = this.current === job; // it may have been aborted meanwhile
      if (isWanted && this.send(job, samples)) this.jobs = [...this.jobs, job];
    } catch (error) {
      if (this.current === job) this.emit(job.id, { type: "error", error: toErrorData(error) });
    }
    this.current = undefined;
    return true;
  }

  /** Sends a piece of a request. True: more pieces follow. */
  private send(job: Job, samples: Int16Array): boolean {
    const isLast = job.spoken >= job.pieces.length;
    job.hasSent ||= samples.some((sample) => Math.abs(sample) > SPEECH_SILENCE_PEAK);
    if (job.hasSent) {
      job.wanted--;
      const audio = Buffer.from(samples.buffer, samples.byteOffset, samples.byteLength).toString("base64");
      this.emit(job.id, { type: "speech", sampleRate: this.voice.sampleRate, audio, isLast });
    } else if (isLast) {
      throw new ServiceError("unsupported_value", "the voice makes no sound for input; send other words", {
        param: "input",
      });
    }
    return !isLast;
  }
}
