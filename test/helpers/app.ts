// The HTTP application in process, without sockets.

import { tmpdir } from "node:os";
import { join } from "node:path";
import { Approvals } from "../../src/agent/approvals.ts";
import { agentConverse } from "../../src/agent/converse.ts";
import { disabledToolset } from "../../src/agent/tools/disabled.ts";
import { ServiceError } from "../../src/core/error.ts";
import type { ModelControl, ModelState, ModelStatus } from "../../src/core/model-info.ts";
import type { Adapters } from "../../src/core/adapter.ts";
import type { Hub } from "../../src/core/hub.ts";
import type { Draw, ImageStore } from "../../src/core/image.ts";
import type { Requantizing } from "../../src/core/requantize.ts";
import type { Embed, Generate, Rank } from "../../src/core/run.ts";
import type { Speak } from "../../src/core/speech.ts";
import { type MediaRules, NO_MEDIA } from "../../src/core/media.ts";
import type { Converters } from "../../src/core/converters.ts";
import type { ReadVideo } from "../../src/core/video.ts";
import type { OwnedState } from "../../src/core/state.ts";
import { fileStore } from "../../src/files/store.ts";
import type { HttpDeps, System } from "../../src/http/deps.ts";
import type { ModelChanges } from "../../src/core/load-settings.ts";
import type { HubAccess } from "../../src/http/hub.ts";
import { toErrorData } from "../../src/http/errors.ts";
import { createHttp } from "../../src/http/server.ts";
import { PageMcpServers } from "../../src/mcp/page-servers.ts";
import { publicFetch } from "../../src/net/public-fetch.ts";
import { BackgroundResponses } from "../../src/responses/background.ts";
import { responseStore } from "../../src/responses/store.ts";
import { SessionStore } from "../../src/sessions/store.ts";
import { SkillStore } from "../../src/skills/store.ts";
import { ownedState } from "../../src/state/owned.ts";
import { CONVERTS_NOTHING, withTestTarget } from "./agent.ts";
import { memoryState } from "../../src/state/memory.ts";
import { describeSystem } from "../../src/system/info.ts";
import { answer, playing } from "./run-events.ts";

/** Where the skills of an application would lie that has none. */
const noFolder = join(tmpdir(), "svc-test-no-skills");

export interface TestApp {
  /** A request to a path; the host must have an ordinary length or the framework misreads the path. */
  request(path: string, init?: RequestInit): Promise<Response>;
  /** POST of a JSON value. */
  post(path: string, body: unknown, init?: RequestInit): Promise<Response>;
  readonly logged: string[];
  readonly app: ReturnType<typeof createHttp>;
}

/** Vectors that tell their inputs apart: [number of the input, its length], not of unit length. */
const countingEmbed: Embed = async ({ inputs }) => ({
  vectors: inputs.map((input, index) => [index, input.length]),
  promptTokens: inputs.reduce((sum, input) => sum + input.length, 0),
});

/** Scores by length: the longest document is the most relevant. */
const lengthRank: Rank = async ({ documents }) => ({
  scores: documents.map(({ length }) => length / (length + 1)),
  promptTokens: documents.reduce((sum, { length }) => sum + length, 0),
});

/** One second of silence for each text. */
const silentSpeak: Speak = async function* speak() {
  const audio = Buffer.alloc(16_000).toString("base64");
  yield { type: "speech", sampleRate: 8000, audio, isLast: true };
};

/** Files and sessions in memory. */
export function testStores(state: OwnedState = ownedState(memoryState())) {
  return { files: fileStore(state), sessions: new SessionStore(state).of };
}

/** A machine on which nothing is wrong. */
const TEST_SYSTEM: System = {
  info: () => describeSystem("strict", { host: undefined, models: [], usersOf: () => [] }),
  doctor: async () => ({
    ok: true,
    checks: [{ name: "clock", status: "pass", detail: "it goes", fix: null }],
  }),
};
/** One model that does as it is told. */
export function obedientModel(): ModelControl {
  let status: ModelStatus = "loaded";
  let pin: Pick<ModelState, "isPinned"> = {};
  const state = (name: string): ModelState => {
    if (name !== "tiny")
      throw new ServiceError("model_not_found", `no ${name.slice(0, 200)}`, { param: "model_id" });
    return { id: "tiny", status, ...pin };
  };
  const become = async (name: string, next: ModelStatus): Promise<ModelState> => {
    state(name);
    status = next;
    return state(name);
  };
  return {
    status: state,
    keep: () => undefined,
    pin: (name, isPinned) => {
      state(name);
      pin = { isPinned };
      return state(name);
    },
    ensureLoaded: (name) => become(name, "loaded"),
    unload: (name) => become(name, "unloaded"),
    reload: (name) => become(name, "loaded"),
  };
}

function noRuntime(): never {
  throw new ServiceError("lora_runtime_unavailable", "no dynamic LoRA runtime");
}

function noHub(): never {
  throw new ServiceError("hub_unavailable", "no hub");
}

/** A hub that is not reached; these clients may change models. */
export function absentHub(isAllowed: () => boolean = () => true): HubAccess {
  const hub: Hub = {
    search: noHub,
    repository: noHub,
    installed: noHub,
    remove: noHub,
    pull: noHub,
    pulls: () => [],
    pullOf: noHub,
    pause: noHub,
    leave: noHub,
    discard: noHub,
  };
  const changes: ModelChanges = {
    planLoad: noHub,
    keepLoad: noHub,
    addFile: noHub,
    addedFiles: () => [],
    forgetFile: noHub,
  };
  return { hub, changes, isAllowed };
}

/** Of a server whose models have no adapters. */
export const noAdapters: Adapters = { isMutable: false, list: noRuntime, load: noRuntime, unload: noRuntime };

async function noWeights(): Promise<never> {
  throw new ServiceError("model_not_found", "no model");
}

/** Of a server whose models keep their weights. */
const noRequantizing: Requantizing = {
  requantize: () => {
    throw new ServiceError("model_not_found", "no model");
  },
  progress: () => undefined,
  startCalibration: noWeights,
  calibration: noWeights,
  applyCalibration: noWeights,
};

/** Draws what no picture viewer would take, at once. */
const instantDraw: Draw = async function* ({ count }) {
  for (let image = 0; image < count; image++) {
    yield {
      type: "image",
      image,
      png: Buffer.from(`picture ${image}`).toString("base64"),
      steps: 1,
      seconds: 0,
    };
  }
  yield { type: "finish" };
};

/** Files of pictures in memory. */
function imageShelf(): ImageStore {
  const files = new Map<string, Blob>();
  return {
    save: async (png) => {
      const name = `image-${files.size}.png`;
      files.set(name, new Blob([Uint8Array.from(png)]));
      return { name, path: `/shelf/${name}` };
    },
    find: (name) => files.get(name),
  };
}

type TestDeps = Partial<HttpDeps> &
  Pick<HttpDeps, "log"> & {
    /** What the model takes besides text; nothing unless given. */
    readonly media?: MediaRules;
    /** Decodes videos; none unless given. */
    readonly readVideo?: ReadVideo;
    /** Converts what no engine reads; none unless given. */
    readonly converters?: Converters;
    /** Where things are kept; memory unless given. */
    readonly state?: OwnedState;
  };

const decodeNothing: ReadVideo = () => Promise.reject(new Error("nothing is decoded here"));

/** What the HTTP layer needs, around a generate function. */
export function testDeps(
  generate: Generate,
  {
    media = NO_MEDIA,
    readVideo = decodeNothing,
    converters = CONVERTS_NOTHING,
    state = ownedState(memoryState()),
    ...deps
  }: TestDeps,
): HttpDeps {
  const { log } = deps;
  const stores = testStores(state);
  const approvals = new Approvals();
  const converse =
    deps.converse ??
    withTestTarget(
      agentConverse({
        ...stores,
        fetchFile: publicFetch(),
        readVideo,
        converters,
        toolsets: (["python", "shell", "search", "files"] as const).map(disabledToolset),
        permission: "auto",
        approvals,
        log,
      }),
      { generate, media: async () => media },
    );
  const responses = deps.responses ?? responseStore(state);
  return {
    generate,
    adapters: noAdapters,
    requantizing: noRequantizing,
    converse,
    answerApproval: approvals.answer,
    responses,
    background: new BackgroundResponses({
      converse,
      store: responses,
      failureOf: (thrown) => toErrorData(thrown, log),
      clock: () => Math.floor(Date.now() / 1000),
    }),
    embed: countingEmbed,
    rank: lengthRank,
    draw: instantDraw,
    imageFiles: imageShelf(),
    speak: silentSpeak,
    ...stores,
    skills: new SkillStore({ folder: noFolder, log }),
    models: () => [{ id: "tiny", created: 1_700_000_000, kind: "text", ownedBy: "svc", status: "loaded" }],
    control: obedientModel(),
    tune: async (name, profile) => ({
      model_id: name,
      profile,
      measurements: [],
      recommended: { threads: 1, threads_batch: 1, ubatch: 512, max_seqs: 1 },
      toml: "[runtime]\n",
      undecided: [],
      complete: true,
      disturbed: false,
    }),
    mcp: {
      servers: new PageMcpServers({ configured: undefined, environment: {}, log }),
      isAllowed: () => false,
    },
    fingerprint: "svc-test",
    system: TEST_SYSTEM,
    ...deps,
  };
}

/** An application around a generate function. */
export function testApp(
  generate: Generate = playing(answer("Hi")).generate,
  deps: Partial<TestDeps> = {},
): TestApp {
  const logged: string[] = [];
  const app = createHttp(testDeps(generate, { log: (line) => void logged.push(line), ...deps }));
  const request = (path: string, init?: RequestInit) =>
    app.handle(new Request(`http://localhost${path}`, init));
  const post = (path: string, body: unknown, init: RequestInit = {}) =>
    request(path, {
      method: "POST",
      headers: { "content-type": "application/json" },
      body: JSON.stringify(body),
      ...init,
    });
  return { request, post, logged, app };
}

/** The same for the web interface, whose requests have its header. */
export function pageApp(...[generate, deps]: Parameters<typeof testApp>): TestApp {
  const app = testApp(generate, deps);
  const request: TestApp["request"] = (path, init = {}) => {
    const headers = new Headers(init.headers);
    headers.set("x-svc-page", "1");
    return app.request(path, { ...init, headers });
  };
  return { ...app, request };
}

/** A smallest valid chat body. */
export function chatBody(extra: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { messages: [{ role: "user", content: "Hello" }], ...extra };
}

/** A smallest valid messages body, as clients send it. */
export function messagesBody(extra: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { max_tokens: 64, ...chatBody(extra) };
}

/** A smallest valid body of the Responses dialect. */
export function responsesBody(extra: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { input: "Hello", ...extra };
}

/** A smallest valid completions body. */
export function textBody(extra: Readonly<Record<string, unknown>> = {}): Record<string, unknown> {
  return { prompt: "Once", ...extra };
}
