// The engine process of a text model: steps the engine while there is work. Messages are read between steps only, so an
// abort takes effect within one step.

import { availableParallelism } from "node:os";
import { openWithBackends } from "../../../ffi/engine-native.ts";
import { unpackBuiltinModel, unpackGrammar } from "../../../ffi/embedded.ts";
import { type DeviceWatch, watchDevices } from "../../../ffi/devices.ts";
import { GrammarEngine } from "../../../ffi/llama/grammar.ts";
import { openGrammar } from "../../../ffi/library.ts";
import { addRpcWorker } from "../../../ffi/llama/rpc.ts";
import { LlamaBackend } from "../../../ffi/llama/llama.ts";
import { type AdapterId, BASE_MODEL } from "../../core/adapter.ts";
import { unreachable } from "../../core/assert.ts";
import { profileOf } from "../../core/device-profile.ts";
import { ServiceError } from "../../core/error.ts";
import { lacksPreTokenizer } from "../../core/gguf-facts.ts";
import { readGgufHeader } from "../../core/gguf-file.ts";
import { freeMemory } from "../../core/free-memory.ts";
import type { EngineHost } from "../../core/system.ts";
import type { CalibrationCommand, RunId, TextOptions, ToEngine } from "../../engine/protocol.ts";
import { toErrorData } from "../shared/error-data.ts";
import type { ConstraintBackend } from "./constraint-backend.ts";
import { Embedder, type EmbedOutcome } from "./embedder.ts";
import { Engine } from "./engine.ts";
import { Outbox } from "./outbox.ts";
import { openTiers } from "./tiers/open.ts";
import { type EngineWork, newSeed, send, sendFailure, type WorkMessage } from "../shared/work.ts";

/** Statistics are sent at most this long after the work that they count, milliseconds. */
const STATS_MS = 250;

/** Events of shorter steps are coalesced, milliseconds: a message costs as much as a step of a tiny model. */
const COALESCE_MS = 1;

/**
 * Grammar masks are computed beside the pass. Compute threads keep all CPUs busy, so one mask thread per CPU delays them
 * least; more than four have nothing to do.
 */
const MASK_THREADS = Math.min(4, availableParallelism());

/** Share of the free memory that checkpoints may use. */
const CHECKPOINTS_SHARE = 0.25;

/** Longest wait of a step for a prompt to be rendered, milliseconds; messages are not read meanwhile. */
const RENDER_WAIT_MS = 1;

interface Loaded {
  readonly backend: LlamaBackend;
  readonly host: EngineHost;
  readonly devices: DeviceWatch;
  /** Opened at the first call: a model without constrained answers does not load the library. */
  readonly constraints: () => ConstraintBackend;
}

async function load(options: TextOptions): Promise<Loaded> {
  const { cacheDir } = options;
  const opened = openWithBackends(options, (failure) =>
    console.error(`engine: ${failure}; models run on the other devices`),
  );
  const { native, libraries } = opened;
  for (const endpoint of options.rpcEndpoints ?? []) addRpcWorker(libraries, endpoint);
  native.svc_catch_crashes();
  const host = opened.host(); // with the memory that is free before the load
  const path = options.modelPath ?? unpackBuiltinModel(cacheDir);
  const backend = await LlamaBackend.load(native, path, options, {
    onProgress: (permille) => send({ type: "loading", permille }),
    onPlaced: (summary, devices) => send({ type: "placed", summary, devices }),
    onTemplate: () => send({ type: "trying_template" }),
  });
  if (backend.maxSeqs < options.maxSeqs) {
    const { architecture } = backend.info;
    console.error(
      `engine: max_seqs is lowered to ${backend.maxSeqs}: llama.cpp runs no more sequences of ${architecture} at once`,
    );
  }
  if (backend.info.isBase === true && backend.info.generates)
    console.error(
      "engine: the file has no chat template, so it is probably a base model: it continues the text of a conversation. chat_template names a template.",
    );
  if (lacksPreTokenizer(readGgufHeader(path).fields))
    console.error(
      "engine: the file has no tokenizer.ggml.pre, so text is split into words by a default rule, and answers may be worse. Convert the model again, or take another file.",
    );
  backend.pinThreads();
  let grammars: GrammarEngine | undefined;
  const constraints = (): GrammarEngine => {
    if (grammars === undefined) {
      grammars = new GrammarEngine(openGrammar(unpackGrammar(cacheDir)), backend.tokens(), MASK_THREADS);
      backend.pinThreads(); // the library has started threads
    }
    return grammars;
  };
  return { backend, host, constraints, devices: watchDevices(native) };
}

function sendEmbedding({ id, result }: EmbedOutcome): void {
  if (result instanceof ServiceError) return send({ type: "embed_failed", id, error: result.toData() });
  const vectors = result.vectors.map((vector) => Buffer.from(vector.buffer).toString("base64"));
  send({ type: "embedded", id, vectors, promptTokens: result.promptTokens });
}

function notCollected(): ServiceError {
  const message = "nothing has been collected since the calibration was started; send more requests";
  return new ServiceError("calibration_not_ready", message);
}

/** Runs, embeddings, adapters and calibrations of one model. */
export class TextWork implements EngineWork {
  private readonly options: TextOptions;
  private engine: Engine | undefined;
  private embedder: Embedder | undefined;
  private backend: LlamaBackend | undefined;
  private devices: DeviceWatch | undefined;
  private stopping = false;
  private wake: (() => void) | undefined;
  private readonly outbox = new Outbox();
  private embedTokens = 0;
  private flushedMs = 0;
  private embedding = false;
  private statsTimer: ReturnType<typeof setTimeout> | undefined;

  constructor(options: TextOptions) {
    this.options = options;
  }

  async run(): Promise<number> {
    void this.load(); // in the background: the first message may be `stop`
    while (!this.stopping) {
      const outcome = this.engine?.step(RENDER_WAIT_MS) ?? "idle";
      if (!this.mayCoalesce() || performance.now() - this.flushedMs >= COALESCE_MS) this.flush();
      if (this.engine?.isStuck === true) {
        console.error("engine: rendering a prompt hangs and blocks all others; ending this process");
        return 1; // the serving process fails the open runs and starts another engine
      }
      if (this.hasLostDevice()) return 1;
      this.statsTimer ??= setTimeout(() => this.sendStats(), STATS_MS); // aborts are counted, too
      this.embedding = this.embedder?.step(outcome === "idle" ? RENDER_WAIT_MS : 0) ?? false;
      if (outcome === "idle" && !this.embedding) await new Promise<void>((resolve) => (this.wake = resolve));
      else await new Promise((resolve) => setImmediate(resolve));
    }
    this.flush();
    return 0;
  }

  receive(message: WorkMessage): void {
    this.flush(); // the next step may be a long one
    switch (message.type) {
      case "start": // received already
      case "draw": // for other kinds of models
      case "speak":
      case "speak_on":
        break;
      case "run":
        this.add(message);
        break;
      case "calibrate":
        this.calibrate(message.id, message.command);
        break;
      case "load_adapter":
        this.loadAdapter(message.adapter, message.file);
        break;
      case "free_adapter":
        this.engine?.forgetAdapter(message.adapter);
        this.backend?.freeAdapter(message.adapter);
        break;
      case "embed":
        this.embedder?.add(message.id, message.request);
        this.embedding = true;
        break;
      case "abort":
        this.engine?.abort(message.id);
        this.embedder?.abort(message.id);
        break;
      case "threads":
        this.backend?.setThreads(message.threads, message.threadsBatch);
        break;
      case "stop":
        this.stopping = true;
        break;
      default:
        unreachable(message);
    }
    this.wake?.();
  }

  sendDevices(isIdle = true): void {
    const isRemote = (this.options.rpcEndpoints ?? []).length > 0;
    if (isIdle && isRemote) return; // a lost worker matters to the next request only
    const devices = this.devices?.() ?? [];
    if (devices.length > 0) send({ type: "devices", devices });
  }

  private async load(): Promise<void> {
    try {
      const { backend, constraints, host, devices } = await load(this.options);
      this.backend = backend;
      this.devices = devices;
      const {
        prefixCacheN,
        prefillShare,
        maxCalls,
        checkpointBytes = 0,
        speculative,
        noKvCache = false,
      } = this.options;
      this.engine = new Engine({
        backend,
        constraints,
        prefixCacheN,
        prefillShare,
        maxCalls,
        checkpointBytes: Math.min(checkpointBytes, freeMemory() * CHECKPOINTS_SHARE),
        tiers: openTiers(this.options.tiers, backend, {
          wake: () => this.wake?.(),
          isOnDevice: (backend.info.placement?.device_layers ?? 0) > 0,
        }),
        drafts: speculative === undefined || speculative.type === "mtp" ? "off" : speculative.type,
        multiStepMs: noKvCache ? 0 : profileOf(backend.info.placement).multiStepMs,
        noKvCache,
        emit: (run, event) => this.outbox.add(run, event),
        now: () => performance.now(),
        newSeed,
      });
      this.embedder = new Embedder(
        () => backend.embedder(),
        (outcome) => {
          if ("promptTokens" in outcome.result) this.embedTokens += outcome.result.promptTokens;
          sendEmbedding(outcome);
        },
        (id, promptTokens) => send({ type: "embed_left", id, promptTokens }),
      );
      send({ type: "ready", info: backend.info, host });
      this.sendStats();
    } catch (error) {
      sendFailure(error);
    }
  }

  private add({ id, request, adapter = BASE_MODEL, scope }: Extract<ToEngine, { type: "run" }>): void {
    if (this.backend?.hasAdapter(adapter) === true) return this.engine?.add(id, request, adapter, scope);
    const message = "the adapter is not loaded in this model's engine; load it again";
    send({
      type: "events",
      runs: [id],
      events: [{ type: "error", error: { code: "model_unavailable", message } }],
    });
  }

  private calibrate(id: RunId, command: CalibrationCommand): void {
    try {
      const calibration = this.backend?.calibration;
      if (calibration === undefined)
        throw new ServiceError("model_unavailable", "the model is not loaded; try again");
      if (command.type === "start") calibration.start(command.rowsMax);
      if (command.type === "save") {
        if (calibration.counts().matrices === 0) throw notCollected(); // a start came after the counts were read
        calibration.stop();
        calibration.save(command.file);
      }
      send({ type: "calibration", id, counts: calibration.counts() });
    } catch (error) {
      send({ type: "calibration_failed", id, error: toErrorData(error) });
    }
  }

  private loadAdapter(adapter: AdapterId, file: string): void {
    try {
      this.backend?.loadAdapter(adapter, file);
      send({ type: "adapter_loaded", adapter });
    } catch (error) {
      send({ type: "adapter_failed", adapter, error: toErrorData(error) });
    }
  }

  /** Whether a pass with layers on a device has failed: what the device computes after that cannot be trusted. */
  private hasLostDevice(): boolean {
    const { engine, backend } = this;
    const isOnDevice = (backend?.info.placement?.device_layers ?? 0) > 0;
    if (engine === undefined || backend === undefined || engine.failedPasses === 0 || !isOnDevice)
      return false;
    const reason = backend.lastFailure;
    send({
      type: "log",
      line: `a pass on a device failed${reason === "" ? "" : `: ${reason}`}; ending the engine`,
    });
    this.flush();
    return true;
  }

  /** Whether events may wait for those of the next step. */
  private mayCoalesce(): boolean {
    return this.engine?.isDecodingOnly === true && !this.embedding && !this.stopping;
  }

  private flush(): void {
    if (this.outbox.isEmpty) return;
    this.flushedMs = performance.now();
    send({ type: "events", ...this.outbox.take() });
  }

  private sendStats(): void {
    this.statsTimer = undefined;
    if (this.engine === undefined) return;
    const residentBytes = process.memoryUsage.rss();
    const { embedTokens } = this;
    send({
      type: "stats",
      stats: { ...this.engine.stats(), embedTokens, residentBytes },
    });
    this.sendDevices(false);
  }
}
