// The registered routes by path: which pattern fits, which methods it takes, and where its requests name a model.
// Built once, when all routes are known.

/** How the requests of a route name a model. */
export type ModelField = "model" | "model_id";

/** A path pattern with all that is known of its routes. */
export interface PathEntry {
  /** As the router has it: `/v1/files/:id`. */
  readonly path: string;
  /** As the interface writes it: `/v1/files/{id}`. */
  readonly pattern: string;
  /** Sorted; HEAD wherever there is GET. */
  readonly methods: readonly string[];
  readonly housekeeping: boolean;
  /** Field of the body that names a model, by method. */
  readonly bodyModels: ReadonlyMap<string, ModelField>;
  /** Methods whose query may name a model. */
  readonly queryModels: ReadonlySet<string>;
}

export interface RouteTable {
  /** The entry of a path, undefined for an unknown one. */
  match(path: string): PathEntry | undefined;
  /** Method and pattern of each route whose body names a model. */
  readonly modelRoutes: readonly (readonly [string, string])[];
}

/** A route as the framework lists it; `detail` is what the OpenAPI document shows. */
interface Route {
  readonly method: string;
  readonly path: string;
  readonly hooks?: { readonly detail?: unknown };
}

/** Component schemas by name, as the OpenAPI document has them. */
type Schemas = Readonly<Record<string, object>>;

/** Paths at and below which nothing is about models. Spec: Metrics. */
const HOUSEKEEPING = ["/health", "/ready", "/metrics", "/docs", "/api-doc", "/openapi.json", "/ui"];

/** Whether a path is for probes, metrics, documentation or the web interface. */
export function isHousekeeping(path: string): boolean {
  return path === "/" || HOUSEKEEPING.some((prefix) => path === prefix || path.startsWith(`${prefix}/`));
}

/** Ids of models hold slashes, so everything below is one of them. */
export const DEEP_PATH = "/v1/models/:id";

interface Growing {
  readonly path: string;
  readonly methods: Set<string>;
  readonly bodyModels: Map<string, ModelField>;
  readonly queryModels: Set<string>;
}

/** Reads the table from the registered routes. Preflights and catch-alls do not make a path known. */
export function routeTable(routes: readonly Route[], schemas: Schemas): RouteTable {
  const growing = new Map<string, Growing>();
  for (const { method, path, hooks } of routes) {
    if (method === "OPTIONS" || path.includes("*")) continue;
    const entry = growing.get(path) ?? {
      path,
      methods: new Set(),
      bodyModels: new Map(),
      queryModels: new Set(),
    };
    growing.set(path, entry);
    entry.methods.add(method);
    if (method === "GET") entry.methods.add("HEAD");
    const field = bodyModel(hooks?.detail, schemas);
    if (field !== undefined) entry.bodyModels.set(method, field);
    if (hasModelQuery(hooks?.detail)) entry.queryModels.add(method);
  }
  const entries = [...growing.values()].map(({ path, ...entry }) => ({
    ...entry,
    path,
    pattern: path.replaceAll(/:(\w+)/g, "{$1}"),
    methods: [...entry.methods].sort(),
    housekeeping: isHousekeeping(path),
  }));
  const fixed = new Map(entries.map((entry) => [entry.path, entry]));
  const patterns = entries
    .filter(({ path }) => path.includes(":"))
    .map((entry) => ({ entry, segments: entry.path.split("/"), isDeep: entry.path === DEEP_PATH }));
  return {
    modelRoutes: entries.flatMap(({ pattern, bodyModels }) =>
      [...bodyModels].flatMap(([method, field]) => (field === "model" ? [[method, pattern] as const] : [])),
    ),
    match(path) {
      const plain = path.length > 1 && path.endsWith("/") ? path.slice(0, -1) : path;
      const found = fixed.get(plain);
      if (found !== undefined || patterns.length === 0) return found;
      const segments = plain.split("/");
      const isMatch = (pattern: (typeof patterns)[number]) =>
        matches(pattern.segments, pattern.isDeep ? segments.slice(0, pattern.segments.length) : segments);
      return patterns.find(isMatch)?.entry;
    },
  };
}

function matches(pattern: readonly string[], segments: readonly string[]): boolean {
  if (pattern.length !== segments.length) return false;
  return pattern.every((part, index) => part.startsWith(":") || part === segments[index]);
}

/** The documented request body says whether a request names a model, so a new route need not say it again. */
function bodyModel(detail: unknown, schemas: Schemas): ModelField | undefined {
  const name = /"#\/components\/schemas\/(\w+)"/.exec(JSON.stringify(at(detail, "requestBody")) ?? "")?.[1];
  const properties = at(schemas[name ?? ""], "properties");
  return (["model", "model_id"] as const).find((field) => at(properties, field) !== undefined);
}

function hasModelQuery(detail: unknown): boolean {
  const parameters = at(detail, "parameters");
  if (!Array.isArray(parameters)) return false;
  return parameters.some((one) => at(one, "in") === "query" && at(one, "name") === "model");
}

function at(value: unknown, key: string): unknown {
  if (typeof value !== "object" || value === null) return undefined;
  return Object.entries(value).find(([name]) => name === key)?.[1];
}
