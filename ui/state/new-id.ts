/** A random id for a conversation, message or session. `crypto.randomUUID` is unavailable on plain HTTP. */
export function newId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, "0")).join("");
}
