// Root component: list, title bar, current page, panel, dialogs and notices.

import { PanelLeft, SlidersHorizontal } from "lucide";
import { ImagesPage } from "../pages/images-page.tsx";
import { MetricsPage } from "../pages/metrics-page.tsx";
import { ModelsPage } from "../pages/models-page.tsx";
import { PageFrame } from "../pages/page-frame.tsx";
import { Problem } from "../pages/problem.tsx";
import { SpeechPage } from "../pages/speech-page.tsx";
import { SystemPage } from "../pages/system-page.tsx";
import { UsagePage } from "../pages/usage-page.tsx";
import { current } from "../state/conversations.ts";
import { isClosed } from "../state/offered-pages.ts";
import { route } from "../state/route.ts";
import { ChatPage } from "./chat-page.tsx";
import { ConversationGallery } from "./conversation-gallery.tsx";
import { ConversationList } from "./conversation-list.tsx";
import { Guard } from "./guard.tsx";
import { HelpDialog } from "./help-dialog.tsx";
import { Icon } from "./icon.tsx";
import { KeyDialog } from "./key-dialog.tsx";
import { isListOpen, isPanelOpen } from "./layout.ts";
import { ModelPicker } from "./model-picker.tsx";
import { Palette } from "./palette.tsx";
import { SettingsPanel } from "./settings-panel.tsx";
import { ShareDialog } from "./share-dialog.tsx";
import { Toasts } from "./toasts.tsx";
import { t } from "../texts/texts.ts";

export function App() {
  const { page } = route.value;
  const isChat = page === "chat";
  const title = isChat ? current.value?.title || t.chat.new : t.pages[page];
  document.title = `${title} · svc`;
  return (
    <div class={`frame ${isListOpen.value ? "with-list" : ""}`}>
      {isListOpen.value && <ConversationList />}
      <main>
        <header class="bar">
          <button
            type="button"
            class="ghost"
            aria-label={isListOpen.value ? t.list.hide : t.list.show}
            aria-expanded={isListOpen.value}
            onClick={() => (isListOpen.value = !isListOpen.value)}
          >
            <Icon node={PanelLeft} />
          </button>
          <h1>{title}</h1>
          {isChat && <ModelPicker />}
          {isChat && (
            <button
              type="button"
              class="ghost"
              aria-label={t.chat.settings}
              aria-expanded={isPanelOpen.value}
              onClick={() => (isPanelOpen.value = !isPanelOpen.value)}
            >
              <Icon node={SlidersHorizontal} />
            </button>
          )}
        </header>
        <Guard key={page}>
          {isChat && <ChatPage />}
          {page === "images" && <ImagesPage />}
          {page === "speech" && <SpeechPage />}
          {isClosed(page) && (
            <PageFrame label={title}>
              <Problem text={t.key.forAdmins} />
            </PageFrame>
          )}
          {page === "models" && !isClosed(page) && <ModelsPage />}
          {page === "metrics" && !isClosed(page) && <MetricsPage />}
          {page === "system" && !isClosed(page) && <SystemPage />}
          {page === "usage" && <UsagePage />}
        </Guard>
      </main>
      {isChat && isPanelOpen.value && <SettingsPanel />}
      <Toasts />
      <HelpDialog />
      <KeyDialog />
      <ShareDialog />
      <ConversationGallery />
      <Palette />
    </div>
  );
}
