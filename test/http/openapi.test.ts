import { describe, expect, test } from "bun:test";
import { Validator } from "@seriousme/openapi-schema-validator";
import { validate } from "@readme/openapi-parser";
import Ajv2020 from "ajv/dist/2020";
import addFormats from "ajv-formats";
import { absentHub, noAdapters, testApp } from "../helpers/app.ts";

interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Record<string, unknown>>> };
}

interface Operation {
  readonly operationId: string;
  readonly parameters?: readonly { readonly name: string }[];
  readonly requestBody?: {
    readonly content: Readonly<Record<string, { readonly schema: { readonly $ref?: string } }>>;
  };
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

/** What a server needs to have all routes. */
const EVERYTHING = { hub: absentHub(), adapters: { ...noAdapters, isMutable: true } };

async function fetchDocument(): Promise<OpenApi> {
  const response = await testApp().request("/api-doc/openapi.json");
  expect(response.status).toBe(200);
  return response.json();
}

/** Calls back for every object in a JSON value. */
function walk(node: unknown, visit: (object: Readonly<Record<string, unknown>>) => void): void {
  if (Array.isArray(node)) for (const item of node) walk(item, visit);
  else if (typeof node === "object" && node !== null) {
    visit(node as Readonly<Record<string, unknown>>);
    for (const value of Object.values(node)) walk(value, visit);
  }
}

describe("the OpenAPI document", () => {
  test("is 3.1.0 and names the service's version", async () => {
    const document = await fetchDocument();
    expect(document.openapi).toBe("3.1.0");
    expect(document.info.version).toBe("0.9.4");
  });

  test("describes the routes, and not the docs page itself", async () => {
    const { paths } = await fetchDocument();
    expect(Object.keys(paths).sort()).toEqual([
      "/",
      "/api/chat",
      "/api/embed",
      "/api/embeddings",
      "/api/generate",
      "/api/ps",
      "/api/show",
      "/api/tags",
      "/api/version",
      "/calibration/apply",
      "/calibration/start",
      "/calibration/status",
      "/health",
      "/infill",
      "/metrics",
      "/re_isq",
      "/ready",
      "/rerank",
      "/v1/agent/approvals/{approval_id}",
      "/v1/audio/speech",
      "/v1/audio/voices",
      "/v1/chat/completions",
      "/v1/chat/completions/input_tokens",
      "/v1/completions",
      "/v1/containers/{container_id}/files",
      "/v1/containers/{container_id}/files/{file_id}",
      "/v1/containers/{container_id}/files/{file_id}/content",
      "/v1/embeddings",
      "/v1/files",
      "/v1/files/{id}",
      "/v1/files/{id}/content",
      "/v1/images/files/{name}",
      "/v1/images/generations",
      "/v1/lora_adapters",
      "/v1/mcp/prompts",
      "/v1/mcp/resources",
      "/v1/me",
      "/v1/messages",
      "/v1/messages/count_tokens",
      "/v1/models",
      "/v1/models/reload",
      "/v1/models/status",
      "/v1/models/tune",
      "/v1/models/unload",
      "/v1/models/{id}",
      "/v1/rerank",
      "/v1/responses",
      "/v1/responses/compact",
      "/v1/responses/input_tokens",
      "/v1/responses/{response_id}",
      "/v1/responses/{response_id}/cancel",
      "/v1/responses/{response_id}/input_items",
      "/v1/sessions/{session_id}",
      "/v1/sessions/{session_id}/fork",
      "/v1/skills",
      "/v1/skills/{skill_id}/versions",
      "/v1/system/doctor",
      "/v1/system/info",
      "/v1/usage",
      "/v2/rerank",
    ]);
    expect(paths["/v1/chat/completions"]?.["post"]).toMatchObject({
      requestBody: {
        content: { "application/json": { schema: { $ref: "#/components/schemas/ChatCompletionRequest" } } },
      },
    });
  });

  test("operations have unique ids and described responses", async () => {
    const { paths } = await fetchDocument();
    const operations = Object.values(paths).flatMap((path) => Object.values(path));
    expect(new Set(operations.map(({ operationId }) => operationId)).size).toBe(operations.length);
    for (const { responses } of operations) {
      expect(Object.keys(responses)).toContain("200");
      expect(Object.keys(responses)).toContain("500");
      for (const { description } of Object.values(responses)) expect(description).not.toBe("");
    }
  });

  test("lists generation first, and operations, parameters, components and fields with a description", async () => {
    const response = await testApp(undefined, EVERYTHING).request("/openapi.json");
    const { paths, components }: OpenApi = await response.json();
    expect(Object.keys(paths)[0]).toBe("/v1/chat/completions");
    const operations = Object.entries(paths).flatMap(([path, methods]) =>
      Object.entries(methods).map(([method, operation]) => [`${method} ${path}`, operation] as const),
    );
    expect(operations.length).toBeGreaterThan(70);
    const bare: string[] = [];
    const check = (place: string, described: object): void => {
      if (!("description" in described) || described.description === "") bare.push(place);
    };
    for (const [place, operation] of operations) {
      check(place, operation);
      for (const parameter of operation.parameters ?? []) check(`${place} ${parameter.name}`, parameter);
    }
    for (const [name, schema] of Object.entries(components.schemas)) {
      check(name, schema);
      walk(schema, ({ properties, type }) => {
        if (typeof properties !== "object" || properties === null || type !== "object") return;
        for (const [field, inner] of Object.entries(properties)) check(`${name}.${field}`, inner as object);
      });
    }
    expect(bare).toEqual([]);
  });

  test("every reference resolves and every component is used", async () => {
    const document = await fetchDocument();
    const names = new Set<string>();
    walk(document, ({ $ref }) => {
      if (typeof $ref !== "string") return;
      expect($ref).toStartWith("#/components/schemas/");
      names.add($ref.slice("#/components/schemas/".length));
    });
    expect([...names].sort()).toEqual(Object.keys(document.components.schemas).sort());
    expect(names.size).toBeGreaterThan(10);
  });

  test("components are plain JSON Schema: named by key, with a shape", async () => {
    const { components } = await fetchDocument();
    for (const schema of Object.values(components.schemas)) {
      expect("type" in schema || "anyOf" in schema).toBe(true);
    }
    walk(components, (node) => {
      expect(node).not.toHaveProperty("$id");
      if (node["type"] === "array") expect(node).toHaveProperty("items");
    });
  });

  test("limits and descriptions of the validators are in it", async () => {
    const { components } = await fetchDocument();
    expect(components.schemas["ChatCompletionRequest"]).toMatchObject({
      required: ["messages"],
      additionalProperties: true,
      properties: { temperature: { anyOf: [{ type: "number", minimum: 0, maximum: 2 }, { type: "null" }] } },
    });
  });
});

describe("every JSON body", () => {
  test("has an example in its schema, which the route takes", async () => {
    const { paths, components } = await fetchDocument();
    let examples = 0;
    for (const [path, methods] of Object.entries(paths)) {
      for (const [method, { requestBody }] of Object.entries(methods)) {
        const reference = requestBody?.content["application/json"]?.schema.$ref;
        if (reference === undefined) continue;
        const schema = components.schemas[reference.split("/").at(-1) ?? ""];
        const list = schema?.["examples"];
        if (!Array.isArray(list)) throw new Error(`${reference} has no examples`);
        for (const example of list) {
          const response = await testApp().post(path, example, { method: method.toUpperCase() });
          const answer = `${path} ${response.status} ${await response.text()}`;
          expect([400, 413, 415, 422, 500], answer).not.toContain(response.status);
          examples++;
        }
      }
    }
    expect(examples).toBeGreaterThan(2);
  });

  test("has the error answers of bodies, and those of models where it names one", async () => {
    const { paths } = await fetchDocument();
    const statuses = Object.keys(paths["/v1/chat/completions"]?.["post"]?.responses ?? {});
    expect(statuses).toEqual(
      expect.arrayContaining(["200", "400", "401", "404", "413", "415", "429", "500", "503", "default"]),
    );
    expect(Object.keys(paths["/health"]?.["get"]?.responses ?? {})).not.toContain("401");
  });
});

describe("independent judges", () => {
  test("two validators find nothing wrong, and see a fault", async () => {
    const judge = async (document: Readonly<Record<string, unknown>>) => {
      const first = await new Validator().validate(structuredClone(document));
      const second = await validate(structuredClone(document) as Parameters<typeof validate>[0]);
      return [first.valid, second.valid];
    };
    const document = await fetchDocument();
    expect(await judge({ ...document })).toEqual([true, true]);
    expect(await judge({ ...document, info: {} })).toEqual([false, false]);
  }, 20_000);

  test("ajv compiles every component", async () => {
    const { components } = await fetchDocument();
    const ajv = new Ajv2020({ strict: false });
    addFormats(ajv);
    ajv.addSchema({ $id: "http://svc/", components });
    for (const name of Object.keys(components.schemas)) {
      expect(ajv.compile({ $ref: `http://svc/#/components/schemas/${name}` })).toBeFunction();
    }
  }, 20_000);
});

describe("the docs page", () => {
  test("needs nothing from elsewhere", async () => {
    const app = testApp();
    const response = await app.request("/docs");
    expect(response.headers.get("content-type")).toStartWith("text/html");
    const page = await response.text();
    expect(page).not.toMatch(/(?:https?:)?\/\//);
    const assets = [...page.matchAll(/(?:src|href)="(\/[^"]+)"/g)].map(([, address]) => address ?? "");
    expect(assets).toHaveLength(2);
    for (const address of assets) {
      const asset = await app.request(address);
      expect(asset.status).toBe(200);
      expect(asset.headers.get("cache-control")).toContain("max-age=31536000");
      expect(asset.headers.get("vary")).not.toBe("*");
      expect((await asset.text()).length).toBeGreaterThan(100_000);
    }
  });

  test("may run its own scripts and reach this server, nothing else", async () => {
    const response = await testApp().request("/docs");
    const policy = response.headers.get("content-security-policy") ?? "";
    const [, inline = ""] = /<script>(.*?)<\/script>/s.exec(await response.text()) ?? [];
    const hash = new Bun.CryptoHasher("sha256").update(inline).digest("base64");
    expect(policy).toContain(`script-src 'self' 'sha256-${hash}'`);
    expect(policy).toStartWith("default-src 'none'");
    expect(policy).toContain("frame-ancestors 'none'");
    expect(/script-src[^;]*unsafe/.test(policy)).toBe(false);
  });

  test("shows the document", async () => {
    expect(await (await testApp().request("/docs/")).text()).toContain('url: "/api-doc/openapi.json"');
  });
});
