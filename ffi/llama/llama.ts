// Backend over llama.cpp: a loaded model and its context. Owns its native handles.

import { toArrayBuffer } from "bun:ffi";
import { basename } from "node:path";
import type { Prompt } from "../../src/core/run.ts";
import { assert } from "../../src/core/assert.ts";
import { isOnDevices } from "../../src/core/device-profile.ts";
import type { SamplingParams } from "../../src/core/sampling.ts";
import type { TextInfo, TextOptions } from "../../src/engine/protocol.ts";
import type {
  Backend,
  BatchColumns,
  DecodeOutcome,
  PendingPrompt,
  RenderedPrompt,
  ReuseMode,
  RowLogprobs,
  SamplerHandle,
  SlotId,
} from "../../src/worker/text/backend.ts";
import type { AdapterId } from "../../src/core/adapter.ts";
import type { MediaChunk, MediaPass, PendingEncoding } from "../../src/worker/text/media-backend.ts";
import { ComputeThreads } from "./compute-threads.ts";
import type { Native } from "../library.ts";
import { readVocabulary, type Vocabulary } from "./grammar.ts";
import { LlamaAdapters } from "./adapters.ts";
import { LlamaCalibration } from "./calibration.ts";
import { type LlamaIdentity, newIdentity } from "./identity.ts";
import { readWholeHeader } from "../../src/core/gguf-file.ts";
import { WordPieces } from "./bert-text.ts";
import { PLAIN_TEMPLATE } from "./plain-template.ts";
import { LlamaTemplates } from "./chat.ts";
import { LlamaPrompt } from "./prompt.ts";
import { canEmbed, canRank, LlamaEmbedder } from "./embed.ts";
import { levelLimits, LlamaDraftModel } from "./draft.ts";
import { LlamaEncoding, LlamaMedia } from "./media.ts";
import { CONTEXT_FACT, type ContextPlan } from "./context.ts";
import { type OpenedModel, openModel } from "./load.ts";
import type { GraphLimits, LoadHooks, ModelInfo } from "./model.ts";
import { type BufferBytes, contextMemory, freePlan, type LayerPlan, placementOf } from "./placement.ts";
import { CPU } from "./projector.ts";
import { LlamaSequences } from "./sequences.ts";
import { LlamaTokens } from "./tokens.ts";
import { type RowTraffic, trafficOf } from "./traffic.ts";
import { newSampler } from "./sampler.ts";
import { threadSystem } from "./thread-system.ts";
import { type Handle, nativeText } from "../text.ts";

/** Return values of svc_decode and svc_decode_media. */
function outcomeOf(code: number): DecodeOutcome {
  if (code === 0) return "done";
  return code === 1 ? "full" : "failed";
}

export class LlamaBackend implements Backend {
  readonly batch: number;
  readonly ubatch: number;
  readonly maxSeqs: number;
  readonly slots: number;
  readonly cells: number;
  readonly reuse: ReuseMode;
  readonly states: LlamaSequences["states"];
  readonly cellCopies: LlamaSequences["copies"];
  readonly contextTokens: number;
  readonly vocabulary: number;
  readonly goesOn: boolean;
  readonly info: TextInfo;
  readonly draftModel: LlamaDraftModel | undefined;
  readonly calibration: LlamaCalibration;
  private readonly native: Native;
  private readonly model: Handle;
  private readonly draft: Handle | undefined;
  private readonly layers: LayerPlan | undefined;
  private readonly context: Handle;
  private readonly sequences: LlamaSequences;
  private readonly identities: LlamaIdentity;
  private readonly media: LlamaMedia | undefined;
  private readonly templates: LlamaTemplates;
  private readonly meta: ModelInfo;
  private readonly computeThreads: ComputeThreads;
  private embedding: LlamaEmbedder | undefined;
  private readonly adapters: LlamaAdapters;
  private readonly tokenTable: LlamaTokens;
  private readonly everyOutput: Int8Array | undefined; // [batch], for models that return logits of all rows
  private readonly stepsDone = new Int32Array(1);

  private constructor(native: Native, opened: OpenedModel, onTemplate: (() => void) | undefined) {
    const { model, meta, limits, options, plan, path, layers } = opened;
    const { threads, threadsBatch } = opened.threads;
    this.native = native;
    this.model = model;
    this.draft = opened.draft;
    this.context = opened.context;
    this.layers = layers;
    this.maxSeqs = options.maxSeqs;
    this.reuse = plan.reuse;
    this.slots = plan.slots;
    this.identities = newIdentity(native, path, options);
    const system = threadSystem(native, this.context);
    this.computeThreads = new ComputeThreads(system, threads, threadsBatch, !this.identities.isInvariant);
    this.sequences = this.sequencesOf(plan, meta.n_swa, limits.windowsInBlocks === true);
    this.states = this.sequences.states;
    this.cellCopies = this.sequences.copies;
    this.calibration = new LlamaCalibration(native, this.context);
    this.adapters = new LlamaAdapters(native, { model, context: this.context, path: options.adapterPath });
    const fact = (name: keyof typeof CONTEXT_FACT): number =>
      native.svc_context_get(this.context, CONTEXT_FACT[name]);
    // Some architectures have no cache, whatever their file says.
    const looksBack = limits.uncached !== true && fact("remembers") === 1;
    this.meta = { ...meta, causal: meta.causal && looksBack };
    this.cells = fact("cells");
    this.batch = fact("batch");
    this.ubatch = fact("ubatch");
    const sequenceCells = fact("sequenceCells");
    this.contextTokens = Math.min(options.maxSeqLen ?? meta.n_ctx_train, meta.n_ctx_train, sequenceCells);
    if (limits.outputsAll === true) this.everyOutput = new Int8Array(this.batch).fill(1);
    this.vocabulary = meta.n_vocab;
    const generates = this.meta.causal && !meta.has_encoder;
    this.draftModel = generates ? this.openDraft(options, limits) : undefined;
    // With layers or experts on the CPU, a pass has mostly ended when the call returns.
    const isWhole = layers === undefined || isOnDevices(layers.report);
    this.goesOn = isWhole && fact("goesOn") === 1;
    this.tokenTable = new LlamaTokens(native, model, meta.n_vocab);
    this.media = this.openMedia(options, threadsBatch);
    onTemplate?.();
    this.templates = new LlamaTemplates(native, model, {
      vocabulary: meta.n_vocab,
      contextTokens: this.contextTokens,
      source: options.chatTemplate ?? (meta.has_chat_template ? undefined : PLAIN_TEMPLATE),
      name: options.templateName ?? basename(path),
      contentTokens: options.contentTokens,
      thinkingDefault: options.thinkingDefault,
      media: this.media,
    });
    this.info = {
      kind: "text",
      modelPath: path,
      description: meta.description,
      architecture: meta.architecture,
      sizeBytes: meta.size_bytes,
      vocabulary: meta.n_vocab,
      trainedContext: meta.n_ctx_train,
      hasHead: meta.n_layer_nextn > 0,
      contextTokens: this.contextTokens,
      cells: this.cells,
      maxSeqs: this.maxSeqs,
      threads,
      generates,
      ...(options.chatTemplate === undefined && !meta.has_chat_template ? { isBase: true as const } : {}),
      embeds: canEmbed(meta),
      ranks: canRank(meta),
      fillsGaps: generates && this.templates.canFillGaps(),
      thinks: generates && this.templates.canThink(),
      modalities: this.media?.modalities ?? [],
      leavesOut: generates ? this.templates.leavesOut : [],
      ...(layers === undefined ? {} : { placement: placementOf(native, this.context, layers) }),
    };
  }

  get isInvariant(): boolean {
    return this.identities.isInvariant;
  }

  /** For engine processes, after native threads have started: pins the compute threads and the caller to cores. */
  pinThreads(): void {
    this.computeThreads.pin();
  }

  /** Sets the threads of decode and of prefill, from the next pass on. */
  setThreads(threads: number, threadsBatch: number): void {
    this.computeThreads.set(threads, threadsBatch);
  }

  /** Loads the model and creates its context. Throws ServiceError(model_unavailable) with the reason. */
  static async load(
    native: Native,
    path: string,
    options: TextOptions,
    hooks: LoadHooks = {},
  ): Promise<LlamaBackend> {
    const opened = await openModel(native, path, options, hooks);
    return new LlamaBackend(native, opened, hooks.onTemplate);
  }

  private openDraft(
    { speculative, pagedAttn }: TextOptions,
    limits: GraphLimits,
  ): LlamaDraftModel | undefined {
    if (speculative?.type !== "mtp") return undefined;
    const { hybrid, recurrent } = this.meta;
    const sizes = {
      level:
        (hybrid || recurrent) && limits.stateFixed !== true ? levelLimits(this.ubatch, pagedAttn) : undefined,
      slots: this.slots,
      max: speculative.mtpNPredict,
      sampled: speculative.mtpDraftSampling === "probabilistic",
    };
    return LlamaDraftModel.open(this.native, this.context, this.draft ?? null, sizes);
  }

  private sequencesOf(plan: ContextPlan, window: number, inBlocks: boolean): LlamaSequences {
    const { native, context, identities: identity } = this;
    const isMarkup = (token: number): boolean => this.tokenTable.isMarkup(token);
    const isOnDevice = (this.layers?.report.device_layers ?? 0) > 0;
    const deps = { native, context, identity, isMarkup, window, inBlocks, isOnDevice };
    return new LlamaSequences(deps, plan);
  }

  private openMedia({ mmprojPath }: TextOptions, threads: number): LlamaMedia | undefined {
    if (mmprojPath === undefined) return undefined;
    const options = { threads, device: this.layers?.projector?.device ?? CPU, ubatch: this.ubatch };
    return LlamaMedia.open(this.native, this.model, mmprojPath, options);
  }

  render(prompt: Prompt): PendingPrompt {
    return this.templates.render(prompt);
  }

  decode(columns: BatchColumns, n: number): DecodeOutcome {
    const { token, position, slot, output } = columns;
    const outputs = this.everyOutput ?? output;
    const { native, context } = this;
    const compute = (): number => native.svc_decode(context, n, token, position, slot, outputs);
    const outcome = outcomeOf(this.computeThreads.during(compute));
    if (outcome === "done") this.sequences.computed(columns, n);
    return outcome;
  }

  encode(prompt: RenderedPrompt, chunk: MediaChunk): PendingEncoding {
    assert(
      this.media !== undefined && prompt instanceof LlamaPrompt,
      "media prompts are rendered by this backend",
    );
    return this.media.encode(prompt.handle, chunk);
  }

  decodeMedia({ prompt, chunk, encoding, from, count, position, slot }: MediaPass): DecodeOutcome {
    assert(
      prompt instanceof LlamaPrompt && encoding instanceof LlamaEncoding,
      "encodings are made by this backend",
    );
    const { context } = this;
    const args = [from, count, position, slot] as const;
    const code = this.native.svc_decode_media(context, prompt.handle, chunk.index, encoding.handle, ...args);
    const done = from + count === chunk.tokens ? chunk.positions : Math.min(from + count, chunk.positions);
    if (code === 0) this.sequences.computedMedia(slot, position, position + done);
    return outcomeOf(code);
  }

  sample(
    n: number,
    rows: Int32Array,
    samplers: BigUint64Array,
    masks: BigUint64Array,
    tokens: Int32Array,
  ): void {
    if (this.native.svc_sample(this.context, n, rows, samplers, masks, tokens) !== 0) tokens.fill(-1, 0, n);
  }

  decodeSteps(
    columns: BatchColumns,
    n: number,
    samplers: BigUint64Array,
    steps: number,
    tokens: Int32Array,
  ): number | "full" | "failed" {
    const { context, native, stepsDone } = this;
    const { token, position, slot } = columns;
    const most = this.sequences.stepsMax(steps);
    const code = this.computeThreads.during(() =>
      native.svc_decode_steps(context, n, token, position, slot, samplers, most, tokens, stepsDone),
    );
    const outcome = outcomeOf(code);
    if (outcome !== "done") return outcome;
    this.sequences.computed(columns, n, stepsDone[0]);
    return stepsDone[0] ?? 0;
  }

  logprobs(row: number, token: number, top: number): RowLogprobs {
    const ids = new Int32Array(Math.max(1, top));
    const values = new Float32Array(top + 1);
    const n = this.native.svc_logprobs(this.context, row, token, top, ids, values);
    if (n < 0) throw new Error(nativeText(this.native.svc_last_error()));
    return {
      logprob: values[0] ?? 0,
      top: Array.from({ length: n }, (_, i) => ({ token: ids[i] ?? 0, logprob: values[i + 1] ?? 0 })),
    };
  }

  identity(adapter: AdapterId): string {
    return this.identities.ofAnswers(adapter);
  }

  selectAdapter(adapter: AdapterId): void {
    this.adapters.select(adapter);
  }

  loadAdapter(adapter: AdapterId, path: string): void {
    this.adapters.load(adapter, path);
    this.identities.adapterLoaded(adapter, path);
  }

  hasAdapter(adapter: AdapterId): boolean {
    return this.adapters.has(adapter);
  }

  freeAdapter(adapter: AdapterId): void {
    this.adapters.free(adapter);
  }

  cutSlot(slot: SlotId, from: number): boolean {
    return this.sequences.cut(slot, from);
  }

  shareSlot(source: SlotId, target: SlotId, length: number): void {
    this.sequences.share(source, target, length);
  }

  newSampler(params: SamplingParams, prompt: Int32Array, seed: number, choice: number): SamplerHandle {
    return newSampler(this.native, this.model, { params, prompt, seed, choice });
  }

  acceptForced(sampler: SamplerHandle, tokens: Int32Array): void {
    this.native.svc_sampler_accept(sampler, tokens.length, tokens, 1);
  }

  freeSampler(sampler: SamplerHandle): void {
    this.native.svc_sampler_free(sampler);
  }

  tokenBytes(token: number, visible: boolean): Uint8Array {
    return this.tokenTable.bytes(token, visible);
  }

  controlTexts = (): ReadonlyMap<number, string> => this.tokenTable.controlTexts();

  endsGeneration(token: number): boolean {
    return this.tokenTable.endsGeneration(token);
  }

  /** The vocabulary for grammars; read once, so not cached. */
  tokens(): Vocabulary {
    return readVocabulary(this.native, this.model);
  }

  /** The model's context for embeddings or scores, created at the first call. Throws ServiceError if the model has none. */
  embedder(): LlamaEmbedder {
    if (this.embedding !== undefined) return this.embedding;
    const { native, model, templates, meta, info, isInvariant } = this;
    const { threads } = info;
    this.embedding = new LlamaEmbedder(native, model, templates, meta, {
      threads,
      isInvariant,
      pieces: WordPieces.of(readWholeHeader(info.modelPath).fields),
    });
    this.adapters.applyTo(this.embedding.context);
    return this.embedding;
  }

  /** Copy of an output row's logits of the last decode: [vocabulary] f32. For tests. */
  logits(row: number): Float32Array {
    const data = this.native.svc_logits(this.context, row);
    if (data === null) throw new Error(nativeText(this.native.svc_last_error()));
    return new Float32Array(toArrayBuffer(data, 0, this.info.vocabulary * 4).slice(0));
  }

  /** What sampling has copied. For measurements and tests. */
  traffic(): RowTraffic {
    return trafficOf(this.native, this.context);
  }

  /** Why the last native call failed; "" where it does not say. */
  get lastFailure(): string {
    return nativeText(this.native.svc_last_error());
  }

  /** What the context holds in each type of buffer. For tests. */
  memory(): readonly BufferBytes[] {
    return contextMemory(this.native, this.context);
  }

  /** The native model, for tests that compare with llama.cpp itself. */
  get modelHandle(): Handle {
    return this.model;
  }

  /** Frees all native handles. The backend must not be used afterwards. */
  close(): void {
    this.embedding?.close();
    this.templates.close();
    this.media?.close();
    this.native.svc_context_free(this.context);
    this.adapters.close();
    this.native.svc_model_free(this.model);
    if (this.draft !== undefined) this.native.svc_model_free(this.draft);
    freePlan(this.native, this.layers);
  }
}
