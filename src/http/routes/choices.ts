// What clients who may change the models of this server choose for them: settings of a load, and files that are served. Absent for
// others.

import type { Static } from "@sinclair/typebox";
import { Elysia } from "elysia";
import {
  AddedFile,
  AddedFileRequest,
  AddedFiles,
  ForgottenFile,
  LoadPlan,
  LoadSettingsRequest,
} from "../../core/load-settings.ts";
import { checker } from "../../dialects/shared/check.ts";
import { readJsonObject } from "../body.ts";
import type { HttpDeps } from "../deps.ts";
import { changesFor } from "../hub.ts";
import { baseModelId } from "../model-name.ts";
import type { ApiComponents } from "../openapi.ts";

const parse = "none" as const; // body.ts reads it

const checkLoad = checker(LoadSettingsRequest);
const checkFile = checker(AddedFileRequest);
const checkId = checker(ForgottenFile);

/** Routes of these choices. */
export function choiceRoutes(deps: HttpDeps, components: ApiComponents) {
  return new Elysia()
    .post("/v1/models/load_settings", ({ request }) => loadSettings(deps, request), {
      parse,
      detail: {
        operationId: "load_settings",
        description:
          "For the model's next load; what is kept outlives a restart. With `dry_run` nothing is kept.",
        tags: ["Models"],
        summary: "Read or keep what a model is loaded with, and estimate its memory",
        requestBody: components.body(LoadSettingsRequest),
        responses: components.answers("What holds, or with `dry_run` what would.", LoadPlan),
      },
    })
    .get("/v1/hub/files", ({ request }) => Response.json(list(deps, request)), {
      detail: {
        operationId: "list_added_files",
        description: "Their ids are values of `model` in requests.",
        tags: ["Hub"],
        summary: "List the models whose files were added by their path",
        responses: components.answers("The models.", AddedFiles),
      },
    })
    .post("/v1/hub/files", ({ request }) => addFile(deps, request), {
      parse,
      detail: {
        operationId: "add_file",
        description: "Its id is the name of the file. It is served after a restart too.",
        tags: ["Hub"],
        summary: "Serve a GGUF file of the server's machine, from now on",
        requestBody: components.body(AddedFileRequest),
        responses: components.answers("Its model.", AddedFile),
      },
    })
    .post("/v1/hub/files/forget", ({ request }) => forgetFile(deps, request), {
      parse,
      detail: {
        operationId: "forget_file",
        description: "A running request keeps it.",
        tags: ["Hub"],
        summary: "Serve a file no more that was added by its path; the file stays",
        requestBody: components.body(ForgottenFile),
        responses: components.answers("The models that are left.", AddedFiles),
      },
    });
}

async function loadSettings(deps: HttpDeps, request: Request): Promise<Response> {
  const changes = changesFor(deps, request);
  const { model_id: name, settings, dry_run: isTrial = false } = checkLoad(await readJsonObject(request));
  const id = baseModelId(deps, name);
  if (settings !== undefined && !isTrial) changes.keepLoad(id, settings);
  return Response.json(await changes.planLoad(id, settings));
}

function list(deps: HttpDeps, request: Request): Static<typeof AddedFiles> {
  const ids = changesFor(deps, request).addedFiles();
  return { object: "list", data: ids.map((id) => ({ id, object: "hub.file" })) };
}

async function addFile(deps: HttpDeps, request: Request): Promise<Response> {
  const changes = changesFor(deps, request);
  const { path } = checkFile(await readJsonObject(request));
  return Response.json({ id: changes.addFile(path), object: "hub.file" });
}

async function forgetFile(deps: HttpDeps, request: Request): Promise<Response> {
  const changes = changesFor(deps, request);
  changes.forgetFile(checkId(await readJsonObject(request)).id);
  return Response.json(list(deps, request));
}
