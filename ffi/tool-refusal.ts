// What is wrong with a tool where llama.cpp cannot make a grammar of its calls. It takes the schemas of all tools together
// and says what it does not like and where in its schema, but not in which.

import { ServiceError } from "../src/core/error.ts";
import type { ToolSpec } from "../src/core/message.ts";

/** json-schema.cpp, and json-schema-to-grammar.cpp. */
const AT_PLACE = /JSON schema error at (#.*?): ([^]*)/;
const ANYWHERE = /JSON schema conversion failed:\s*([^]*)/;

/** The refusal that a reason of llama.cpp's stands for; undefined where it is about something else. */
export function toolRefusal(tools: readonly ToolSpec[], reason: string): ServiceError | undefined {
  const [, place, problem] = AT_PLACE.exec(reason) ?? [];
  const said = problem ?? ANYWHERE.exec(reason)?.[1];
  if (said === undefined) return undefined;
  const suspects = tools.filter(({ parameters }) => place === undefined || hasPlace(parameters, place));
  const [only, ...others] = tools.length === 1 ? tools : suspects;
  const whose =
    only === undefined || others.length > 0
      ? "A tool"
      : `The tool ${JSON.stringify(only.name.slice(0, 200))}`;
  const where = place === undefined ? "" : ` at ${place.slice(0, 200)}`;
  const message = `${whose} has a schema of its arguments to which calls cannot be held${where}: ${said.trim().slice(0, 500)}; change that schema`;
  return new ServiceError("invalid_request", message, { param: "tools" });
}

/** Whether there is something at the end of a path that is written as llama.cpp writes it: names as they are. */
function hasPlace(schema: object, place: string): boolean {
  let here: unknown = schema;
  for (const word of place.split("/").slice(1)) {
    if (typeof here !== "object" || here === null || !Object.hasOwn(here, word)) return false;
    here = Object.entries(here).find(([name]) => name === word)?.[1];
  }
  return true;
}
