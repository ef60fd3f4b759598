// Entry point of the page.

import { render } from "preact";
import { loadCapabilities } from "./state/capabilities.ts";
import { loadMcp } from "./state/mcp.ts";
import { loadMe } from "./state/me.ts";
import { loadModels } from "./state/models.ts";
import { startConversations } from "./state/conversations.ts";
import { resume } from "./state/chat.ts";
import { watchDrafts } from "./state/drafts.ts";
import { prefs, watchPrefs } from "./state/prefs.ts";
import { startSync } from "./state/sync.ts";
import { languageOf, showLanguage } from "./texts/texts.ts";
import { watchRoute } from "./state/route.ts";
import { App } from "./view/app.tsx";
import { watchKeys } from "./view/help-dialog.tsx";

watchPrefs();
await showLanguage(languageOf(prefs.value.language, navigator.languages)); // before the first text is shown
watchRoute();
watchDrafts();
watchKeys();
void startConversations(resume).then(startSync);
void loadMe();
void loadModels();
void loadCapabilities();
void loadMcp();
render(<App />, document.body);
