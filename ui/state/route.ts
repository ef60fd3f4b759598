// Client-side routing by the fragment of the URL. The server serves a single page.

import { signal } from "@preact/signals";

export type Route =
  | { readonly page: "chat"; readonly id?: string }
  | { readonly page: (typeof OTHER_PAGES)[number] };

export const OTHER_PAGES = ["images", "speech", "models", "metrics", "system", "usage"] as const;

export const route = signal<Route>(parse(location.hash));

export function watchRoute(): void {
  addEventListener("hashchange", () => {
    route.value = parse(location.hash);
  });
}

export function go(to: Route): void {
  location.hash = addressOf(to);
  route.value = to; // synchronously; the hashchange event is asynchronous
}

export function addressOf(to: Route): string {
  if (to.page !== "chat") return `#/${to.page}`;
  return to.id === undefined ? "#/" : `#/c/${encodeURIComponent(to.id)}`;
}

function parse(hash: string): Route {
  const [, page = "", id = ""] = hash.split("/");
  const other = OTHER_PAGES.find((name) => name === page);
  if (other !== undefined) return { page: other };
  return page === "c" && id !== "" ? { page: "chat", id: decoded(id) } : { page: "chat" };
}

function decoded(id: string): string {
  try {
    return decodeURIComponent(id);
  } catch {
    return id; // not percent-encoded
  }
}
