// Web search options: the options object of chat and messages, and the conversion of all its forms.

import { type Static, Type } from "@sinclair/typebox";
import type { UserLocation, WebSearch } from "../../core/agent.ts";
import type { Compat } from "../../core/compat.ts";
import { defined } from "../../core/defined.ts";
import { ServiceError } from "../../core/error.ts";
import { OPEN, orNull } from "../../core/schema-fields.ts";
import { SEARCH_DOMAINS_MAX } from "./limits.ts";
import { isPresent } from "./check.ts";
import { serveOrRefuse } from "./compat.ts";

const domains = (description: string) =>
  orNull(Type.Array(Type.String({ minLength: 1 }), { maxItems: SEARCH_DOMAINS_MAX, description }));

/** Domain lists of filters and, in some dialects, of the tool itself. */
export const domainProperties = {
  allowed_domains: domains("Search only these hosts and their subdomains."),
  blocked_domains: domains("Exclude these hosts and their subdomains."),
};

/** Fields of a location. */
export const placeProperties = {
  city: orNull(Type.String({ description: "Name of the city." })),
  region: orNull(Type.String({ description: "Name of the region." })),
  country: orNull(Type.String({ description: "Code of the country: `DE`." })),
  timezone: orNull(Type.String({ description: "IANA name: `Europe/Berlin`." })),
};

const WebSearchFilters = Type.Object(domainProperties, {
  $id: "WebSearchFilters",
  description: "Hosts to search, or to leave out.",
  ...OPEN,
});

const WebSearchImageSettings = Type.Object(
  {
    caption: orNull(Type.Boolean({ description: "Not supported." })),
    max_results: orNull(Type.Integer({ description: "Not supported.", minimum: 0 })),
  },
  { $id: "WebSearchImageSettings", description: "Not supported: image search is unavailable.", ...OPEN },
);

/** Fields common to the options object and the hosted tools. */
export const webSearchProperties = {
  search_context_size: orNull(
    Type.Union([Type.Literal("low"), Type.Literal("medium"), Type.Literal("high")], {
      description: "How much text of the pages the model receives. Default `medium`.",
    }),
  ),
  filters: orNull(WebSearchFilters),
  external_web_access: orNull(
    Type.Boolean({ description: "`false` is refused: there is no offline index." }),
  ),
  return_token_budget: orNull(
    Type.Union([Type.Literal("default"), Type.Literal("unlimited")], {
      description: "Accepted without effect.",
    }),
  ),
  search_content_types: orNull(
    Type.Array(Type.Union([Type.Literal("text"), Type.Literal("image")]), {
      description: "Only `text` is supported.",
    }),
  ),
  image_settings: orNull(WebSearchImageSettings),
};

export const WebSearchOptions = Type.Object(
  {
    ...webSearchProperties,
    user_location: orNull(
      Type.Object(
        {
          type: Type.Literal("approximate"),
          approximate: Type.Object(placeProperties, { description: "The place.", ...OPEN }),
        },
        { $id: "WebSearchUserLocation", description: "Place that searches are made for.", ...OPEN },
      ),
    ),
    search_description: orNull(Type.String({ description: "Replaces the description of the search tool." })),
    extract_description: orNull(
      Type.String({ description: "Replaces the description of the page-reading tool." }),
    ),
  },
  { $id: "WebSearchOptions", description: "Lets the model search the web.", ...OPEN },
);

const SearchFields = Type.Object(webSearchProperties);
const PlaceFields = Type.Object(placeProperties);

/**
 * The web search of checked options; `path` is their path in the body. Throws `unsupported_value` for image search and
 * for `external_web_access: false`; returns undefined for the latter under `--compat clients`.
 */
export function webSearchOf(
  options: Static<typeof SearchFields>,
  path: string,
  compat: Compat,
): WebSearch | undefined {
  refuse(options.search_content_types?.includes("image") === true, `${path}.search_content_types`, "image");
  refuse(isPresent(options.image_settings), `${path}.image_settings`, "a value");
  if (options.external_web_access === false) {
    const param = `${path}.external_web_access`;
    serveOrRefuse(compat, "external_web_access", refusal(param, "false"));
    return undefined;
  }
  return {
    contextSize: options.search_context_size ?? "medium",
    unlimitedBudget: options.return_token_budget === "unlimited",
    allowedDomains: options.filters?.allowed_domains ?? [],
    blockedDomains: options.filters?.blocked_domains ?? [],
  };
}

function refuse(isRequested: boolean, param: string, value: string): void {
  if (isRequested) throw refusal(param, value);
}

function refusal(param: string, value: string): ServiceError {
  return new ServiceError("unsupported_value", `${param} does not support ${value}; omit it`, { param });
}

/** `web_search_options` of a checked body. */
export function webSearchOptionsOf(
  options: Static<typeof WebSearchOptions> | null | undefined,
  compat: Compat,
): WebSearch | undefined {
  if (!isPresent(options)) return undefined;
  const search = webSearchOf(options, "web_search_options", compat);
  if (search === undefined) return undefined;
  const location = placeOf(options.user_location?.approximate ?? {});
  return {
    ...search,
    ...defined({ location }),
    ...(isPresent(options.search_description) ? { searchDescription: options.search_description } : {}),
    ...(isPresent(options.extract_description) ? { extractDescription: options.extract_description } : {}),
  };
}

/** The location without its empty fields; undefined if all are empty. */
export function placeOf(place: Static<typeof PlaceFields>): UserLocation | undefined {
  const { city, region, country, timezone } = place;
  const parts = Object.entries({ city, region, country, timezone }).filter(([, part]) => isPresent(part));
  return parts.length === 0 ? undefined : Object.fromEntries(parts);
}
