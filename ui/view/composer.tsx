// Message input: text, and files by button, drop and paste.

import { ArrowUp, Paperclip, Square, X } from "lucide";
import { signal } from "@preact/signals";
import { useEffect, useRef } from "preact/hooks";
import { messageOf } from "../api/client.ts";
import { BYTES_MAX, isScan, readAttachment, withPageImages } from "../state/attachments.ts";
import { ask } from "../state/chat.ts";
import { notifyTabs } from "../state/conversations.ts";
import { draftOf, enqueue, loadDraft, queuedOf, setDraft, unqueue } from "../state/drafts.ts";
import { mediaTypeOf } from "../state/media-types.ts";
import { fileBudget, fileTexts } from "../state/text-files.ts";
import { isRunning, stopAnswer } from "../state/running.ts";
import { type Attachment, type Conversation, thread } from "../state/conversation.ts";
import { formatBytes } from "../format.ts";
import { cardOf, formatsOf, type ModelCard, takes } from "../state/model-card.ts";
import { loadModels, models } from "../state/models.ts";
import { notify } from "../state/toasts.ts";
import { AttachmentChip } from "./attachment-chip.tsx";
import { ContextMeter } from "./context-meter.tsx";
import { Form } from "./fields.tsx";
import { Icon } from "./icon.tsx";
import { COMPOSER_ID } from "./layout.ts";
import { MicrophoneButton } from "./microphone.tsx";
import { menuAttributes, PromptMenuView, usePromptMenu } from "./prompt-menu.tsx";
import { ToolButton } from "./tool-button.tsx";
import { isTextBox } from "./text-box.ts";
import { t } from "../texts/texts.ts";

/** Largest height of the text box, CSS pixels. */
const HEIGHT_MAX = 260;
/** Type of dropped files in a DataTransfer, in every language. */
const DROPPED_FILES = "Files";

/** Files that are being read. */
const filesReading = signal(0);

export function Composer({ conversation }: { readonly conversation: Conversation }) {
  const { id } = conversation;
  const { text, attachments } = draftOf(id);
  const setText = (typed: string): void => setDraft(id, { text: typed });
  const card = cardOf(models.value ?? [], conversation.model);
  const { add, remove, replace } = attachmentsOf(id, card);
  const isBusy = isRunning(id);
  const isEmpty = text.trim() === "" && attachments.length === 0;
  const submit = (): void => {
    if (isEmpty) return;
    setDraft(id, { text: "", attachments: [] });
    if (isBusy) void enqueue(id, { text, attachments }).then(() => notifyTabs(id));
    else ask(id, text, attachments);
  };
  const notes = fileNotes(conversation, attachments, card);
  useEffect(() => void loadDraft(id), [id]);
  useDrop(add);
  useFreshCard(attachments.length > 0, card);
  return (
    <Form class="composer" onSubmit={submit}>
      <div class="column composer-box">
        <Queued id={id} />
        {filesReading.value > 0 && (
          <p class="faint" role="status">
            {t.files.reading(filesReading.value)}
          </p>
        )}
        {attachments.length > 0 && (
          <ul class="chips" aria-label={t.files.attachments}>
            {attachments.map((attachment, index) => (
              <AttachmentChip
                key={index}
                {...{ attachment, card }}
                note={notes[index]}
                onRemove={() => remove(index)}
                onChange={(changed) => replace(attachment, changed)}
              />
            ))}
          </ul>
        )}
        <div class="composer-row">
          <AttachButton onFiles={add} card={card} />
          <ToolButton conversation={conversation} />
          {takes(card, "audio") === true && <MicrophoneButton onFile={(file) => add([file])} />}
          <MessageBox {...{ text, setText, submit, add, conversation }} />
          <SendButton {...{ id, isBusy, isEmpty }} />
        </div>
        <ContextMeter conversation={conversation} card={card} />
      </div>
    </Form>
  );
}

interface SendButtonProps {
  readonly id: string;
  readonly isBusy: boolean;
  readonly isEmpty: boolean;
}

/** Sends, or stops the running answer. Keys: without them, the second click of a double click would hit the other button. */
function SendButton({ id, isBusy, isEmpty }: SendButtonProps) {
  if (isBusy) {
    return (
      <button
        key="stop"
        type="button"
        class="round"
        onClick={() => stopAnswer(id)}
        aria-label={t.common.stop}
        title={t.composer.stopKey}
      >
        <Icon node={Square} size={16} />
      </button>
    );
  }
  return (
    <button
      key="go"
      type="submit"
      class="round"
      disabled={isEmpty}
      aria-label={t.composer.send}
      title={t.composer.sendKey}
    >
      <Icon node={ArrowUp} />
    </button>
  );
}

interface MessageBoxProps {
  readonly text: string;
  readonly setText: (text: string) => void;
  readonly submit: () => void;
  readonly add: (files: Iterable<File>) => void;
  readonly conversation: Conversation;
}

function MessageBox({ text, setText, submit, add, conversation }: MessageBoxProps) {
  const area = useRef<HTMLTextAreaElement>(null);
  useEffect(() => {
    const box = area.current;
    if (box === null) return;
    box.style.height = "auto";
    box.style.height = `${Math.min(HEIGHT_MAX, box.scrollHeight)}px`;
  }, [text]);
  useEffect(() => {
    if (isTextBox(document.activeElement)) return; // the user began to type elsewhere while this was loaded
    if (matchMedia("(pointer: fine)").matches) area.current?.focus(); // on a phone, focus would open the keyboard
  }, []);
  const menu = usePromptMenu(conversation, text);
  const onKeyDown = (event: KeyboardEvent): void => {
    if (menu.onKeyDown(event)) return;
    if (event.key === "Enter" && !event.shiftKey && !event.isComposing) {
      event.preventDefault();
      submit();
    }
    if (event.key === "ArrowUp" && text === "") setText(lastQuestion(conversation));
  };
  return (
    <>
      <PromptMenuView menu={menu} />
      <textarea
        id={COMPOSER_ID}
        ref={area}
        rows={1}
        placeholder={t.composer.hint}
        aria-label={t.composer.message}
        {...menuAttributes(menu)}
        value={text}
        onInput={({ currentTarget }) => setText(currentTarget.value)}
        onKeyDown={onKeyDown}
        onPaste={(event) => {
          const files = [...(event.clipboardData?.files ?? [])];
          if (files.length === 0) return;
          event.preventDefault();
          add(files);
        }}
      />
    </>
  );
}

interface AttachProps {
  readonly onFiles: (files: Iterable<File>) => void;
  readonly card: ModelCard | undefined;
}

const MODALITIES = ["image", "audio", "video"] as const;

/** Any file can be attached; the button names what the model reads as an image, a sound or a video. */
function AttachButton({ onFiles, card }: AttachProps) {
  const input = useRef<HTMLInputElement>(null);
  const read = MODALITIES.flatMap((modality) => {
    const formats = formatsOf(card, modality);
    return formats === undefined ? [] : [`${t.files.kinds[modality]}: ${formats}`];
  });
  const pixels = card?.media?.image?.max_pixels;
  const limits = t.files.limits(
    formatBytes(BYTES_MAX),
    pixels === undefined ? undefined : Math.floor(pixels / 1e6),
  );
  return (
    <>
      <button
        type="button"
        class="ghost"
        onClick={() => input.current?.click()}
        aria-label={t.files.attach}
        title={[t.files.attach, ...read, ...(read.length === 0 ? [] : [limits])].join("\n")}
      >
        <Icon node={Paperclip} />
      </button>
      <input
        ref={input}
        type="file"
        multiple
        hidden
        aria-label={t.files.toAttach}
        onChange={({ currentTarget }) => {
          onFiles([...(currentTarget.files ?? [])]);
          currentTarget.value = "";
        }}
      />
    </>
  );
}

/** The question that waits for the running answer, with a button that takes it back. */
function Queued({ id }: { readonly id: string }) {
  const queued = queuedOf(id);
  if (queued === undefined) return null;
  const files = queued.attachments.length === 0 ? "" : ` (${t.count.file(queued.attachments.length)})`;
  return (
    <p class="queued" role="status">
      <span class="faint">{t.composer.next}</span> <span class="queued-text">{queued.text}</span>
      {files}
      <button
        type="button"
        class="ghost"
        onClick={() => void unqueue(id).then(() => notifyTabs(id))}
        aria-label={t.composer.takeBack}
      >
        <Icon node={X} size={14} />
      </button>
    </p>
  );
}

/** How much of each file the model gets; undefined for images and audio. */
function fileNotes(
  { settings }: Conversation,
  attachments: readonly Attachment[],
  card: ModelCard | undefined,
): readonly (string | undefined)[] {
  if (settings.python || settings.shell) return attachments.map(() => t.files.openable);
  const budget = fileBudget(card);
  const sizes = fileTexts(attachments, Infinity).map((content) => content?.total ?? 0);
  const isTooMuch = sizes.reduce((sum, size) => sum + size, 0) > budget;
  return attachments.map((attachment, i) => {
    if (mediaTypeOf(attachment) !== undefined) return undefined;
    const size = sizes[i] ?? 0;
    const extent = [
      ...(attachment.pages === undefined ? [] : [t.count.page(attachment.pages)]),
      ...(size === 0 ? [] : [t.count.character(size)]),
      ...(isTooMuch && size > budget / 4 ? [t.files.searched] : []),
    ];
    if (size > 0) return extent.join(", ");
    if ((attachment.images?.length ?? 0) > 0 && takes(card, "image") === true) return extent.join(", ");
    if (attachment.pages !== undefined) return t.files.nameOnlyPages;
    const kind = MODALITIES.find((modality) => attachment.mime.startsWith(`${modality}/`));
    const formats = kind === undefined ? undefined : formatsOf(card, kind);
    return formats === undefined ? t.files.nameOnly : t.files.notRead(formats);
  });
}

function attachmentsOf(id: string, card: ModelCard | undefined) {
  const add = (files: Iterable<File>): void => {
    for (const file of files) {
      filesReading.value++;
      readAttachment(file)
        .then((read) => (isScan(read) && takes(card, "image") === true ? withPageImages(read) : read))
        .then((read) => setDraft(id, { attachments: [...draftOf(id).attachments, read] }))
        .catch((error: unknown) => notify(messageOf(error)))
        .finally(() => filesReading.value--);
    }
  };
  const remove = (index: number): void =>
    setDraft(id, { attachments: draftOf(id).attachments.toSpliced(index, 1) });
  const replace = (before: Attachment, after: Attachment): void =>
    setDraft(id, { attachments: draftOf(id).attachments.map((one) => (one === before ? after : one)) });
  return { add, remove, replace };
}

/** Interval at which the card of a loading model is refreshed, milliseconds. */
const LOADING_POLL_MS = 2000;

/** Refreshes the model list while a card has no modalities: they are known only once the model is loaded. */
function useFreshCard(hasAttachments: boolean, card: ModelCard | undefined): void {
  const isLoading = hasAttachments && card?.modalities === undefined && card?.status !== "loaded";
  useEffect(() => {
    if (hasAttachments) void loadModels();
  }, [hasAttachments]);
  useEffect(() => {
    if (!isLoading) return undefined;
    const timer = setInterval(() => void loadModels(), LOADING_POLL_MS);
    return () => clearInterval(timer);
  }, [isLoading]);
}

/** Accepts files dropped anywhere on the page. */
function useDrop(add: (files: Iterable<File>) => void): void {
  const latest = useRef(add);
  latest.current = add;
  useEffect(() => {
    const hasFiles = (event: DragEvent): boolean =>
      event.dataTransfer?.types.includes(DROPPED_FILES) ?? false;
    const mark = (isOver: boolean): void => void document.body.classList.toggle("dropping", isOver);
    const over = (event: DragEvent): void => {
      if (!hasFiles(event)) return;
      event.preventDefault();
      mark(true);
    };
    const leave = (event: DragEvent): void => {
      if (event.relatedTarget === null) mark(false);
    };
    const drop = (event: DragEvent): void => {
      mark(false);
      if (!hasFiles(event)) return;
      event.preventDefault();
      latest.current([...(event.dataTransfer?.files ?? [])]);
    };
    addEventListener("dragover", over);
    addEventListener("dragleave", leave);
    addEventListener("drop", drop);
    return () => {
      removeEventListener("dragover", over);
      removeEventListener("dragleave", leave);
      removeEventListener("drop", drop);
    };
  }, []);
}

function lastQuestion(conversation: Conversation): string {
  const last = thread(conversation).findLast((message) => message.role === "user");
  return last?.role === "user" ? last.text : "";
}
