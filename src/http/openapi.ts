// The OpenAPI 3.1.0 document. Its paths come from the routes' own details, its components from the TypeBox schemas
// those details name, so nothing is listed twice. The page that shows it is docs.ts.
// @elysiajs/swagger walks the routes; its own page needs a CDN.

import { swagger } from "@elysiajs/swagger";
import { KindGuard, type TSchema, Type } from "@sinclair/typebox";
import { assert } from "../core/assert.ts";
import { VERSION } from "../core/version.ts";
import { SAMPLE_RATE_HEADER } from "./audio.ts";

export const OPENAPI_PATH = "/api-doc/openapi.json";
/** Where tools look that know no other address. */
const OPENAPI_ALIAS = "/openapi.json";

/** The error envelope as documented; core/error.ts writes it. */
const ErrorResponse = Type.Object(
  {
    error: Type.Object(
      {
        code: Type.String({ description: "Error code, for programs." }),
        message: Type.String({ description: "What is wrong and how to fix it, for people." }),
        type: Type.String({ description: "Class of the code, as client libraries distinguish it." }),
        param: Type.Optional(Type.String({ description: "Path of the request field at fault." })),
      },
      { description: "What went wrong." },
    ),
  },
  { $id: "ErrorResponse", description: "Body of all error responses." },
);

interface Ref {
  readonly $ref: string;
}

/** Collects the named schemas that route details refer to. One instance an app, filled while routes are built. */
export class ApiComponents {
  /** Plain JSON schemas by name. */
  readonly schemas: Record<string, object> = {};

  /** A reference to a schema, which becomes a component together with the named schemas inside it. */
  ref(schema: TSchema): Ref {
    const { $id: name, ...body } = schema;
    assert(name !== undefined, "a documented schema has no $id");
    if (!(name in this.schemas)) {
      this.schemas[name] = {}; // stops the recursion of a schema that contains itself
      this.schemas[name] = this.plain(body);
    }
    return { $ref: `#/components/schemas/${name}` };
  }

  /** Request body of a JSON route. */
  body(schema: TSchema) {
    return { required: true, content: { "application/json": { schema: this.ref(schema) } } };
  }

  /** Request body of a JSON route that may be left out. */
  optionalBody(schema: TSchema) {
    return { ...this.body(schema), required: false };
  }

  /** Request body of a multipart route. */
  form(schema: TSchema) {
    return { required: true, content: { "multipart/form-data": { schema: this.ref(schema) } } };
  }

  /** Responses of a route that answers with bytes of any kind. */
  bytes(description: string) {
    return {
      200: { description, content: { "application/octet-stream": {} } },
      default: this.error(),
    };
  }

  /** Responses of a route that answers with sound. */
  audio(description: string) {
    const rate = { description: "Samples a second.", schema: { type: "integer" as const } };
    const headers = { [SAMPLE_RATE_HEADER]: rate };
    return {
      200: { description, headers, content: { "audio/wav": {}, "audio/pcm": {} } },
      default: this.error(),
    };
  }

  /** Responses of a JSON route; of arrays and unions the members are named. */
  answers(description: string, schema: TSchema) {
    return {
      200: { description, content: { "application/json": { schema: this.shape(schema) } } },
      default: this.error(),
    };
  }

  /** Responses of a route that answers whole or as a stream. */
  generationAnswers(whole: TSchema, chunk: TSchema) {
    return {
      200: {
        description: "The answer as JSON, or as server-sent events with `stream: true`.",
        content: {
          "application/json": { schema: this.ref(whole) },
          "text/event-stream": { schema: this.ref(chunk) },
        },
      },
      default: this.error(),
    };
  }

  /** Responses of a route that answers whole or as lines of JSON, both in one shape. */
  lineAnswers(line: TSchema) {
    const content = { schema: this.ref(line) };
    return {
      200: {
        description: "The answer as lines of JSON, or as one object with `stream: false`.",
        content: { "application/x-ndjson": content, "application/json": content },
      },
      default: this.error(),
    };
  }

  /** Responses of a route that answers with plain text. */
  textAnswer(description: string) {
    return {
      200: { description, content: { "text/plain": { schema: { type: "string" as const } } } },
      default: this.error(),
    };
  }

  private shape(schema: TSchema): object {
    if (KindGuard.IsArray(schema)) return { type: "array", items: this.ref(schema.items) };
    return KindGuard.IsUnion(schema) ? { anyOf: schema.anyOf.map((one) => this.ref(one)) } : this.ref(schema);
  }

  /** An error answer. */
  error(description = "Any other error.") {
    return {
      description,
      content: { "application/json": { schema: this.ref(ErrorResponse) } },
    };
  }

  /**
   * A copy without TypeBox's symbols, named schemas inside replaced by references. `$id` must go: in JSON Schema it
   * would change what the references inside are relative to.
   */
  private plain(node: object): object {
    if (Array.isArray(node)) return node.map((item) => this.plainValue(item));
    return Object.fromEntries(
      Object.entries(node).map(([key, value]) => [
        key,
        key === "properties"
          ? this.fields(value as Readonly<Record<string, TSchema>>)
          : this.plainValue(value),
      ]),
    );
  }

  /** The fields of an object, each with its description beside its name, where readers and generators look for it. */
  private fields(properties: Readonly<Record<string, TSchema>>): object {
    return Object.fromEntries(
      Object.entries(properties).map(([name, schema]) => {
        const description = descriptionOf(schema);
        const plain = this.plainValue(schema) as object;
        return [name, description === undefined ? plain : { ...plain, description }];
      }),
    );
  }

  private plainValue(value: unknown): unknown {
    if (typeof value !== "object" || value === null) return value;
    return "$id" in value ? this.ref(value as TSchema) : this.plain(value); // only schemas carry $id
  }
}

/** Description of a field: its schema's own, or that of what the schema consists of. */
function descriptionOf(schema: TSchema): string | undefined {
  if (schema.description !== undefined) return schema.description;
  if (KindGuard.IsLiteral(schema)) return `Always \`${schema.const}\`.`;
  if (KindGuard.IsArray(schema)) return descriptionOf(schema.items);
  if (!KindGuard.IsUnion(schema)) return undefined;
  const [only, ...others] = schema.anyOf.filter((one) => !KindGuard.IsNull(one));
  return only === undefined || others.length > 0 ? undefined : descriptionOf(only);
}

/** Serves the document. The plugin's own page, which loads scripts from a CDN, is replaced by docs.ts. */
export function openapiHook(components: ApiComponents, docsPath: string) {
  const document = swagger({
    path: docsPath,
    specPath: OPENAPI_PATH,
    provider: "swagger-ui",
    documentation: {
      openapi: "3.1.0", // overrides the plugin's 3.0.3: TypeBox emits JSON Schema, which is what 3.1 embeds
      info: {
        title: "svc",
        version: VERSION,
        description:
          "A server for AI models on one machine: chat, completions, responses, messages, embeddings, images, speech.",
      },
      servers: [{ url: "/" }],
      // Without a key wherever the server demands none.
      security: [{}, { bearer: [] }, { key: [] }],
      components: {
        schemas: components.schemas,
        securitySchemes: {
          bearer: { type: "http", scheme: "bearer" },
          key: { type: "apiKey", in: "header", name: "x-api-key" },
        },
      },
    },
  });
  const served = document.routes.find(({ path }) => path === OPENAPI_PATH);
  assert(served !== undefined, "the plugin serves the document");
  return document.get(OPENAPI_ALIAS, served.handler, { detail: { hide: true } });
}
