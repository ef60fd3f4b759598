import { describe, expect, test } from "bun:test";
import { testApp } from "../helpers/app.ts";

interface OpenApi {
  readonly openapi: string;
  readonly info: { readonly version: string };
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>;
  readonly components: { readonly schemas: Readonly<Record<string, Record<string, unknown>>> };
}

interface Operation {
  readonly operationId: string;
  readonly responses: Readonly<Record<string, { readonly description: string }>>;
}

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
      "/health",
      "/metrics",
      "/v1/chat/completions",
      "/v1/completions",
      "/v1/embeddings",
      "/v1/models",
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
      expect(Object.keys(responses)).toEqual(["200", "default"]);
      for (const { description } of Object.values(responses)) expect(description).not.toBe("");
    }
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

  test("shows the document", async () => {
    expect(await (await testApp().request("/docs/")).text()).toContain('url: "/api-doc/openapi.json"');
  });
});
