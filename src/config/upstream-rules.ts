// Start-up rules of models that other servers run: kind = "upstream", [[models.upstreams]], [models.routing], fallback.

import { isSecretSource, SECRET_FORMS } from "../core/secret.ts";
import type { Problem } from "./problem.ts";
import type { RawValue } from "./sources.ts";

type Values = ReadonlyMap<string, RawValue>;

/** Settings of an entry that an upstream model can have besides those of its own section. */
const UPSTREAM_KEYS =
  /^(?:model_id|alias|kind|serves|fallback|device\.(?:max_seq_len|cpu)|(?:multimodal|routing|upstreams)[.[].*|device|multimodal|routing)$/;
/** Settings that only an upstream model has. */
const OWN_KEYS = /^(?:serves|fallback|(?:routing|upstreams)[.[].*)$/;
/** Problems of upstream models. */
export function upstreamProblems(values: Values, entries: readonly string[]): readonly Problem[] {
  return [...entries.flatMap((entry) => entryProblems(values, entry)), ...fallbackProblems(values, entries)];
}

function entryProblems(values: Values, entry: string): readonly Problem[] {
  const kind = values.get(`${entry}.kind`);
  const own = [...values.values()].filter(({ path }) => path.startsWith(`${entry}.`));
  const keyOf = ({ path }: RawValue): string => path.slice(entry.length + 1);
  if (kind?.value !== "upstream") {
    const strange = own.filter((value) => OWN_KEYS.test(keyOf(value)));
    return strange
      .slice(0, 1)
      .map((value) => problem(value, 'needs kind = "upstream"', "Remove it, or set the kind."));
  }
  const upstreams = own.filter(({ path }) => /\.upstreams\[\d+\]$/.test(path));
  const none =
    upstreams.length > 0
      ? []
      : [
          {
            origin: kind.origin,
            key: `${entry}.upstreams`,
            what: "missing",
            fix: "Add [[models.upstreams]] with a url.",
          },
        ];
  const foreign = own.filter((value) => value.value !== false && !UPSTREAM_KEYS.test(keyOf(value)));
  return [
    ...none,
    ...foreign.map((value) => problem(value, "is for models that svc runs itself", "Remove it.")),
    ...upstreams.flatMap((upstream) => upstreamProblemsOf(values, upstream, upstreams)),
    ...probeProblems(values, entry, upstreams),
  ];
}

/** A probe is a text of one token. */
function probeProblems(values: Values, entry: string, upstreams: readonly RawValue[]): readonly Problem[] {
  if ((values.get(`${entry}.serves`)?.value ?? "text") === "text") return [];
  const probes = upstreams.flatMap(({ path }) => values.get(`${path}.probe`) ?? []);
  return probes
    .filter(({ value }) => value === true)
    .map((value) => problem(value, "is for text models", "Remove it: images and speech are not probed."));
}

function upstreamProblemsOf(
  values: Values,
  upstream: RawValue,
  all: readonly RawValue[],
): readonly Problem[] {
  const { path } = upstream;
  const url = values.get(`${path}.url`);
  const key = values.get(`${path}.key`);
  const problems: Problem[] = [];
  const isWritten = typeof upstream.value === "object" && upstream.value !== null && "url" in upstream.value;
  if (url === undefined && !isWritten)
    problems.push({
      origin: upstream.origin,
      key: `${path}.url`,
      what: "missing",
      fix: "Every upstream needs a url.",
    });
  if (typeof key?.value === "string" && !isSecretSource(key.value))
    problems.push(problem(key, "this is not a place that a key can come from", `Use ${SECRET_FORMS}.`));
  const same = all.find(
    (other) =>
      other.path !== path &&
      values.get(`${other.path}.url`)?.value === url?.value &&
      values.get(`${other.path}.model`)?.value === values.get(`${path}.model`)?.value,
  );
  if (url !== undefined && same !== undefined && all.indexOf(same) < all.indexOf(upstream))
    problems.push(
      problem(url, `is the same upstream as ${same.path}`, "Name each one once; weight gives it more load."),
    );
  return problems;
}

/** Fallbacks are served models, and no chain of them comes back to its beginning. */
function fallbackProblems(values: Values, entries: readonly string[]): readonly Problem[] {
  const nameOf = (entry: string): string => String(values.get(`${entry}.alias`)?.value);
  const names = entries.map(nameOf);
  const given = new Map(
    entries.flatMap((entry) => {
      const list = values.get(`${entry}.fallback`);
      return list !== undefined && Array.isArray(list.value) ? [[nameOf(entry), list] as const] : [];
    }),
  );
  const nextOf = (name: string): readonly string[] => {
    const list: unknown = given.get(name)?.value;
    return Array.isArray(list) ? list.map(String) : [];
  };
  return [...given].flatMap(([name, list]) => {
    const unknown = nextOf(name).find((next) => !names.includes(next));
    if (unknown !== undefined)
      return [problem(list, `no model is called "${unknown}"`, `Use one of: ${names.join(", ")}.`)];
    const chain = cycleFrom(name, nextOf);
    return chain === undefined
      ? []
      : [
          problem(
            list,
            `leads back to its own model: ${chain.join(" -> ")}`,
            "Remove one of these fallbacks.",
          ),
        ];
  });
}

/** The names of a chain of fallbacks from a model back to itself. */
function cycleFrom(
  start: string,
  nextOf: (name: string) => readonly string[],
): readonly string[] | undefined {
  const seen = new Set<string>();
  const walk = (name: string, path: readonly string[]): readonly string[] | undefined => {
    for (const next of nextOf(name)) {
      if (next === start) return [...path, next];
      if (seen.has(next)) continue;
      seen.add(next);
      const found = walk(next, [...path, next]);
      if (found !== undefined) return found;
    }
    return undefined;
  };
  return walk(start, [start]);
}

function problem(value: RawValue, what: string, fix: string): Problem {
  return { origin: value.origin, key: value.path, what, fix };
}
