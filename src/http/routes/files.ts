// /v1/files and its aliases under /v1/containers: one store for all container ids.

import { type Static, Type } from "@sinclair/typebox";
import { Elysia } from "elysia";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import type { Files, StoredFile } from "../../core/files.ts";
import { SourceMeta } from "../../dialects/shared/agent-events.ts";
import { fileContent } from "../file-content.ts";
import { uploadedFile } from "../file-upload.ts";
import { requestCompat } from "../compat.ts";
import type { HttpDeps } from "../deps.ts";
import { callerOf } from "../observe.ts";
import type { ApiComponents } from "../openapi.ts";
import { refuseWhileDraining } from "../run.ts";

const common = {
  id: Type.String({ description: "Id of the file." }),
  bytes: Type.Integer({ description: "Size of the file.", minimum: 0 }),
  created_at: Type.Integer({ minimum: 0, description: "Unix seconds." }),
  filename: Type.String({ description: "Name of the file." }),
  format: Type.Optional(Type.String({ description: "File name extension without a dot." })),
  mime_type: Type.String({ description: "MIME type." }),
  source: SourceMeta,
};

const FileMetadata = Type.Object(
  {
    ...common,
    object: Type.Literal("file"),
    purpose: Type.String({ description: "Purpose, as given at the upload." }),
    truncated: Type.Optional(Type.Boolean({ description: "The content was evicted." })),
  },
  { $id: "FileMetadata", description: "Metadata of a stored file." },
);

const ContainerFileMetadata = Type.Object(
  {
    ...common,
    object: Type.Literal("container.file"),
    container_id: Type.String({ description: "Container of the file." }),
  },
  {
    $id: "ContainerFileMetadata",
    description: "Metadata of a stored file, in the form of the containers API.",
  },
);

const FileUpload = Type.Object(
  {
    file: Type.String({ description: "The file.", format: "binary" }),
    purpose: Type.Optional(
      Type.String({ description: "`user_data` (default) for files that requests attach." }),
    ),
  },
  { $id: "FileUpload", description: "Body of an upload." },
);

const DeletedFile = Type.Object(
  {
    id: Type.String({ description: "Id of the file." }),
    object: Type.Literal("file"),
    deleted: Type.Literal(true),
  },
  { $id: "DeletedFile", description: "A file that was deleted." },
);

const tags = ["Files"];

/** File routes. */
export function fileRoutes(deps: HttpDeps, components: ApiComponents) {
  const filesOf = filesFor(deps);
  return new Elysia()
    .post("/v1/files", ({ request }) => upload(deps, request), {
      parse: "none", // multipart.ts reads it
      detail: {
        operationId: "upload_file",
        description: "A request names it by its id; the model gets its name and, of a text, the beginning.",
        tags,
        summary: "Upload a file, kept for 30 minutes",
        requestBody: components.form(FileUpload),
        responses: components.answers("The stored file.", FileMetadata),
      },
    })
    .get(
      "/v1/files",
      ({ request }) => {
        const files = filesOf(request);
        return listOf(
          deps,
          files.list().map((file) => metadata(files, file)),
        );
      },
      {
        detail: {
          operationId: "list_files",
          description: "Files of the caller: uploaded ones, and those that tools have made.",
          tags,
          summary: "List the stored files, oldest first; with `--compat clients`, an object with `data`",
          responses: components.answers("The files.", Type.Array(FileMetadata)),
        },
      },
    )
    .get("/v1/files/:id", ({ request, params }) => one(filesOf(request), params.id), {
      detail: {
        operationId: "get_file",
        description: "Name, size, type and origin.",
        tags,
        summary: "Get the metadata of a file",
        responses: components.answers("The file.", FileMetadata),
      },
    })
    .delete("/v1/files/:id", ({ request, params }) => remove(filesOf(request), params.id), {
      detail: {
        operationId: "delete_file",
        description: "Its content is removed at once.",
        tags,
        summary: "Delete a file",
        responses: components.answers("The file was deleted.", DeletedFile),
      },
    })
    .get("/v1/files/:id/content", ({ request, params }) => content(filesOf(request), params.id), {
      detail: {
        operationId: "get_file_content",
        description: "The bytes, as a download.",
        tags,
        summary: "Download a file",
        responses: components.bytes(
          "The content; 410 if it was evicted, 422 if the file could not be created.",
        ),
      },
    });
}

/** A bare array, as in the specification, or a page with all files, as official clients expect. */
function listOf(deps: HttpDeps, data: readonly { readonly id: string }[]): Response {
  const compat = requestCompat(deps);
  if (compat.mode === "strict") return Response.json(data);
  compat.note("file_list");
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null };
  return Response.json({ object: "list", data, has_more: false, ...ends });
}

/** The same files under any container id. */
export function containerRoutes(deps: HttpDeps, components: ApiComponents) {
  const filesOf = filesFor(deps);
  const base = "/v1/containers/:container_id/files";
  return new Elysia()
    .get(
      base,
      ({ request, params }) =>
        listOf(
          deps,
          filesOf(request)
            .list()
            .map((file) => containerFile(file, params.container_id)),
        ),
      {
        detail: {
          operationId: "list_container_files",
          description: "The files of `GET /v1/files`, where clients of containers ask for them.",
          tags,
          summary: "List the stored files, oldest first",
          responses: components.answers("The files.", Type.Array(ContainerFileMetadata)),
        },
      },
    )
    .get(
      `${base}/:file_id`,
      ({ request, params }) =>
        Response.json(containerFile(known(filesOf(request), params.file_id), params.container_id)),
      {
        detail: {
          operationId: "get_container_file",
          description: "Name, size, type and origin.",
          tags,
          summary: "Get the metadata of a file",
          responses: components.answers("The file.", ContainerFileMetadata),
        },
      },
    )
    .get(`${base}/:file_id/content`, ({ request, params }) => content(filesOf(request), params.file_id), {
      detail: {
        operationId: "get_container_file_content",
        description: "The bytes, as a download.",
        tags,
        summary: "Download a file",
        responses: components.bytes(
          "The content; 410 if it was evicted, 422 if the file could not be created.",
        ),
      },
    });
}

async function upload(deps: HttpDeps, request: Request): Promise<Response> {
  refuseWhileDraining(deps);
  const { file, pieces } = await uploadedFile(request);
  const files = filesFor(deps)(request);
  return Response.json(metadata(files, await files.add(file, pieces)));
}

/** The files of a request's caller. */
function filesFor(deps: HttpDeps): (request: Request) => Files {
  return (request) => deps.files(callerOf(request));
}

function one(files: Files, id: string): Response {
  return Response.json(metadata(files, known(files, id)));
}

function content(files: Files, id: string): Promise<Response> {
  return fileContent(files, known(files, id));
}

function remove(files: Files, id: string): Response {
  if (!files.delete(id)) throw unknownFile(id);
  const body: Static<typeof DeletedFile> = { id, object: "file", deleted: true };
  return Response.json(body);
}

function known(files: Files, id: string): StoredFile {
  const file = files.get(id);
  if (file === undefined) throw unknownFile(id);
  return file;
}

function unknownFile(id: string): ServiceError {
  const shown = JSON.stringify(id.slice(0, 64));
  return new ServiceError("file_not_found", `there is no file ${shown}; files are kept for 30 minutes`);
}

function commonOf({ id, bytes, createdAt, name, format, mimeType, source }: StoredFile) {
  return {
    id,
    bytes,
    created_at: createdAt,
    filename: name,
    ...defined({ format }),
    mime_type: mimeType,
    source,
  };
}

function metadata(files: Files, file: StoredFile): Static<typeof FileMetadata> {
  const isElided = file.failure === undefined && !files.hasBody(file.id);
  return {
    ...commonOf(file),
    object: "file",
    purpose: file.purpose,
    ...(isElided ? { truncated: true } : {}),
  };
}

function containerFile(file: StoredFile, containerId: string): Static<typeof ContainerFileMetadata> {
  return { ...commonOf(file), object: "container.file", container_id: containerId };
}
