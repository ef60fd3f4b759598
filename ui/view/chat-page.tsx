// The chat page: thread of messages and composer.

import { ArrowDown } from "lucide";
import { Fragment } from "preact";
import { useEffect, useLayoutEffect, useRef, useState } from "preact/hooks";
import { type Conversation, thread } from "../state/conversation.ts";
import { change, current, openConversation } from "../state/conversations.ts";
import { DRAFT } from "../state/drafts.ts";
import { announcement, asked } from "../state/chat.ts";
import { type Find, find, withInThread } from "../state/find.ts";
import { isRunning } from "../state/running.ts";
import { textOf } from "../state/search.ts";
import { go, route } from "../state/route.ts";
import { notify } from "../state/toasts.ts";
import { AnswerView } from "./answer-view.tsx";
import { Composer } from "./composer.tsx";
import { CutNote } from "./cut-note.tsx";
import { FindBar, markWords } from "./find-bar.tsx";
import { Guard } from "./guard.tsx";
import { Icon } from "./icon.tsx";
import { QuestionView } from "./question-view.tsx";
import { steady } from "./steady.ts";
import { Welcome } from "./welcome.tsx";
import { t } from "../texts/texts.ts";

/** Messages rendered at first, and for each step towards the beginning. */
const RENDERED_AT_ONCE = 30;

/** Messages that stay rendered at the end: more make typing slow, and this number is taller than every screen. */
const RENDERED_MAX_AT_END = 150;

/** Distance from the end up to which the thread counts as scrolled to the end, CSS pixels. */
const NEAR_END = 60;

export function ChatPage() {
  const at = route.value;
  const id = at.page === "chat" ? at.id : undefined;
  useEffect(() => {
    if (id === undefined) return;
    void openConversation(id).then((isFound) => {
      if (isFound) return;
      notify(t.chat.notFound);
      go({ page: "chat" });
    });
  }, [id]);
  const conversation = current.value;
  if (conversation === undefined) return <div class="thread" aria-busy="true" />;
  return (
    <>
      {thread(conversation).length === 0 ? (
        <Welcome conversation={conversation} />
      ) : (
        <Thread key={conversation.id} />
      )}
      <Composer key={`composer-${id ?? DRAFT}`} conversation={conversation} />
      <p class="off-screen" role="status">
        {announcement.value}
      </p>
    </>
  );
}

function Thread() {
  const box = useRef<HTMLDivElement>(null);
  const [isAtEnd, setAtEnd] = useState(true);
  const [rendered, setRendered] = useState(RENDERED_AT_ONCE);
  const conversation = current.value;
  const quiet = useRef<Conversation | undefined>(undefined);
  const toEnd = (): void => {
    if (box.current !== null) box.current.scrollTop = box.current.scrollHeight;
  };
  const count = asked.value;
  useLayoutEffect(() => setAtEnd(true), [count]);
  // Follows new text, unless the user has scrolled up.
  useLayoutEffect(() => {
    if (isAtEnd) toEnd();
  });
  const onScroll = (): void => {
    const { scrollHeight = 0, scrollTop = 0, clientHeight = 0 } = box.current ?? {};
    const isNearEnd = scrollHeight - scrollTop - clientHeight < NEAR_END;
    setAtEnd(isNearEnd);
    if (isNearEnd && rendered > RENDERED_MAX_AT_END) setRendered(RENDERED_AT_ONCE);
  };
  const sought = find.value?.conversation === conversation?.id ? find.value : undefined;
  useShownHit(sought, conversation, box, (count) => {
    setAtEnd(false);
    setRendered((before) => Math.max(before, count));
  });
  if (conversation === undefined) return null;
  quiet.current = steady(quiet.current, conversation);
  const messages = thread(conversation);
  const cutId = conversation.cut && (conversation.cut.from ?? messages[0]?.id);
  const hidden = Math.max(0, messages.length - rendered);
  return (
    <div class="thread-frame">
      {sought !== undefined && <FindBar {...{ conversation, sought }} />}
      <div
        class="thread"
        ref={box}
        onScroll={onScroll}
        tabIndex={0}
        role="region"
        aria-label={t.chat.conversation}
      >
        <div class="column">
          {hidden > 0 && (
            <Earlier count={hidden} onSeen={() => setRendered((before) => before + RENDERED_AT_ONCE)} />
          )}
          {messages.slice(hidden).map((message) => (
            <Fragment key={message.id}>
              {message.id === cutId && <CutNote conversation={conversation} />}
              <Guard text={() => textOf(message)}>
                {message.role === "user" ? (
                  <QuestionView conversation={quiet.current ?? conversation} message={message} />
                ) : (
                  <AnswerView conversation={quiet.current ?? conversation} message={message} />
                )}
              </Guard>
            </Fragment>
          ))}
        </div>
      </div>
      {!isAtEnd && (
        <button type="button" class="to-end" onClick={toEnd} aria-label={t.chat.toEnd}>
          <Icon node={ArrowDown} />
          {isRunning(conversation.id) && <span>{t.chat.newBelow}</span>}
        </button>
      )}
    </div>
  );
}

/** Messages that are rendered before one that was found, so that it does not stand at the edge. */
const RENDERED_BEFORE = 10;

/** Scrolls to the message that was found, and marks the words. `render`: messages from the end to render. */
function useShownHit(
  sought: Find | undefined,
  conversation: Conversation | undefined,
  box: { readonly current: HTMLElement | null },
  render: (count: number) => void,
): void {
  const { at, words = "" } = sought ?? {};
  useEffect(() => {
    if (at === undefined || conversation === undefined) return;
    const inThread = withInThread(conversation, at);
    if (inThread !== conversation) change(conversation.id, () => inThread);
    const messages = thread(inThread);
    render(messages.length - messages.findIndex(({ id }) => id === at) + RENDERED_BEFORE);
    const scroll = (): void =>
      box.current?.querySelector(`[data-message="${CSS.escape(at)}"]`)?.scrollIntoView({ block: "center" });
    const frame = requestAnimationFrame(() => requestAnimationFrame(scroll)); // after it is rendered and laid out
    return () => cancelAnimationFrame(frame);
  }, [at, conversation?.id]);
  // After each rendering: messages come and grow.
  useEffect(() => {
    if (box.current !== null) markWords(box.current, words);
  });
}

/** Stands for messages that are not rendered yet; they are when it comes near the view. */
function Earlier({ count, onSeen }: { readonly count: number; readonly onSeen: () => void }) {
  const button = useRef<HTMLButtonElement>(null);
  useEffect(() => {
    if (button.current === null) return undefined;
    const root = button.current.closest(".thread");
    const observer = new IntersectionObserver(
      (entries) => {
        if (entries.some(({ isIntersecting }) => isIntersecting)) onSeen();
      },
      { root, rootMargin: "800px 0px 0px" },
    );
    observer.observe(button.current);
    return () => observer.disconnect();
  }, [count]);
  return (
    <button ref={button} type="button" class="earlier" onClick={onSeen}>
      {t.count.earlierMessage(count)}
    </button>
  );
}
