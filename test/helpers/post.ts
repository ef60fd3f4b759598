/** POSTs a JSON value. */
export function postJson(url: string | URL, value: unknown, init: RequestInit = {}): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return fetch(url, { method: "POST", headers, body: JSON.stringify(value), ...init });
}
