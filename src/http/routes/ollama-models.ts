// Ollama's routes about models and the server: /api/tags, /api/show, /api/ps, /api/version.

import { Elysia } from "elysia";
import { mayUseModel } from "../../core/account.ts";
import { assert } from "../../core/assert.ts";
import type { ModelInfo } from "../../core/model-info.ts";
import { VERSION } from "../../core/version.ts";
import {
  type FiledModel,
  OllamaPsResponse,
  OllamaShowResponse,
  OllamaTagsResponse,
  OllamaVersionResponse,
  parseOllamaShow,
  psBody,
  showBody,
  tagsBody,
  versionBody,
} from "../../dialects/ollama/models.ts";
import { OllamaShowRequest } from "../../dialects/ollama/schema.ts";
import type { HttpDeps } from "../deps.ts";
import { callerOf } from "../observe.ts";
import { modelOf, readOllama } from "../ollama-model.ts";
import type { ApiComponents } from "../openapi.ts";
import { ollamaPullRoutes } from "./ollama-pull.ts";

const TAGS = ["Ollama"];

/** Model routes of Ollama's dialect. */
export function ollamaModelRoutes(deps: HttpDeps, components: ApiComponents) {
  const textModels = (request: Request) => {
    const { account } = callerOf(request);
    return deps.models().filter((model) => model.kind === "text" && mayUseModel(account, model));
  };
  const running = async (request: Request) =>
    (await filed(textModels(request)))
      .filter(({ status, parent }) => status === "loaded" && parent === undefined)
      .map((model) => ({
        model,
        expiresMs: Date.now() + (deps.control.status(model.id).idleLeftMs ?? Infinity),
      }));
  return new Elysia()
    .use(ollamaPullRoutes(deps, components))
    .get("/api/tags", async ({ request }) => Response.json(tagsBody(await filed(textModels(request)))), {
      detail: {
        operationId: "ollama_tags",
        description: "As `ollama list` shows them.",
        tags: TAGS,
        summary: "List the served text models",
        responses: components.answers("The models; the default one comes first.", OllamaTagsResponse),
      },
    })
    .post("/api/show", async ({ request }) => Response.json(await describeValue(deps, request)), {
      parse: "none", // body.ts reads it
      detail: {
        operationId: "ollama_show",
        description: "Template, parameters, abilities and metadata of the file.",
        tags: TAGS,
        summary: "Describe a model",
        requestBody: components.body(OllamaShowRequest),
        responses: components.answers("Details of the model.", OllamaShowResponse),
      },
    })
    .get("/api/ps", async ({ request }) => Response.json(psBody(await running(request))), {
      detail: {
        operationId: "ollama_ps",
        description: "As `ollama ps` shows them.",
        tags: TAGS,
        summary: "List the loaded text models",
        responses: components.answers("The models.", OllamaPsResponse),
      },
    })
    .get("/api/version", () => Response.json(versionBody(VERSION)), {
      detail: {
        operationId: "ollama_version",
        description: "`version` is the version of Ollama whose protocol is spoken, `svc_version` is svc's.",
        tags: TAGS,
        summary: "Get the versions of the protocol and of the server",
        responses: components.answers("The versions.", OllamaVersionResponse),
      },
    });
}

async function describeValue(deps: HttpDeps, request: Request) {
  const name = parseOllamaShow(await readOllama(deps, request, true));
  const [model] = await filed([modelOf(deps, callerOf(request), name)]);
  assert(model !== undefined, "one model gives one card");
  return showBody(model);
}

/** Models with the facts of their files. */
function filed(models: readonly ModelInfo[]): Promise<readonly FiledModel[]> {
  return Promise.all(models.map(async ({ file, ...model }) => ({ ...model, facts: await file?.() })));
}
