// The API key of this browser: what a new one, or none, makes the page ask for again.

import { loadCapabilities } from "./capabilities.ts";
import { isKeyRefused } from "./key.ts";
import { loadMcp } from "./mcp.ts";
import { loadMe } from "./me.ts";
import { loadModels } from "./models.ts";
import { setPrefs } from "./prefs.ts";
import { syncNow, withdraw } from "./sync.ts";

/** Forgets the key, and what the server keeps of the conversations here: the next person of this browser must not see them. */
export async function signOut(): Promise<void> {
  await withdraw();
  signIn("");
}

/** Uses another key from now on. What was refused without it is asked for again. */
export function signIn(apiKey: string): void {
  setPrefs({ apiKey });
  isKeyRefused.value = false;
  void loadMe();
  void loadModels();
  void loadCapabilities();
  void loadMcp();
  syncNow();
}
