// Passages of large files that suit a question, by the ranking of web search. Its code is loaded with the first large file.

import { type Attachment, type Conversation, type Excerpt, thread } from "./conversation.ts";
import { textOf } from "./text-files.ts";

/** Characters of all passages of a question: about 10,000 tokens. */
const CHARS_MAX = 30_000;
/** Characters of further passages from files of earlier questions. */
const LATER_CHARS_MAX = 9000;

export interface PassageSearch {
  readonly question: string;
  readonly attachments: readonly Attachment[];
  /** The conversation before the question. */
  readonly conversation: Conversation;
  /** Characters that the files of a question may take. */
  readonly budget: number;
}

/** Whether a question needs `excerptsFor`. */
export function needsPassages({ attachments, conversation, budget }: PassageSearch): boolean {
  return sizeOf(attachments) > budget || largeFiles(conversation).length > 0;
}

/**
 * Excerpts of the files that do not fit whole, and of large files of earlier questions. The smallest files stay whole as long as
 * they leave half of the budget to the others.
 */
export async function excerptsFor(search: PassageSearch): Promise<Excerpt[]> {
  const { question, attachments, conversation, budget } = search;
  const [large, left] = split(attachments, budget);
  const excerpts = await excerptsOf(question, large, { chars: Math.min(left, CHARS_MAX), isFilled: true });
  const names = new Set(attachments.map(({ name }) => name));
  const earlier = largeFiles(conversation).filter(({ name }) => !names.has(name));
  const chars = Math.min(budget, LATER_CHARS_MAX);
  const sent = sentPassages(conversation);
  const later = await excerptsOf(question, earlier, { chars, isFilled: false, sent });
  return [...excerpts, ...later];
}

/** The files that do not fit whole, and the characters that are left for them. */
function split(attachments: readonly Attachment[], budget: number): readonly [readonly Attachment[], number] {
  if (sizeOf(attachments) <= budget) return [[], budget];
  const texts = attachments.filter((file) => textOf(file) !== undefined);
  const bySize = texts.toSorted((a, b) => sizeOf([a]) - sizeOf([b]));
  let left = budget;
  const large = bySize.filter((file) => {
    const size = sizeOf([file]);
    if (left - size < budget / 2) return true;
    left -= size;
    return false;
  });
  return [large, left];
}

interface Extent {
  readonly chars: number;
  /** Fills what the ranking leaves with the beginnings of the files. */
  readonly isFilled: boolean;
  /** Passages that the model has already, as `sentKey`. */
  readonly sent?: ReadonlySet<string>;
}

async function excerptsOf(
  question: string,
  files: readonly Attachment[],
  { chars, isFilled, sent }: Extent,
): Promise<readonly Excerpt[]> {
  if (files.length === 0) return [];
  const { passagesOf, rankPassages } = await import("../../src/reader/ranking.ts");
  const texts = files.map((file) => ({
    text: textOf(file) ?? "",
    title: file.name,
    description: "",
    url: "",
  }));
  const all = texts.map(({ text }) => passagesOf(text));
  const ranked = rankPassages(question, texts, { hasOthers: false });
  const beginnings = all.flatMap((list, hit) => list.map((text, index) => ({ hit, index, text })));
  const rest = isFilled ? beginnings.toSorted((a, b) => a.index - b.index) : [];
  const chosen = new Map<string, (typeof ranked)[number]>();
  let left = chars;
  for (const passage of [...ranked, ...rest]) {
    const key = sentKey(files[passage.hit]?.name ?? "", passage.index);
    if (chosen.has(key) || sent?.has(key) === true) continue;
    if (passage.text.length > left) break;
    left -= passage.text.length;
    chosen.set(key, passage);
  }
  return files.flatMap((file, hit) => {
    const passages = [...chosen.values()]
      .filter((passage) => passage.hit === hit)
      .map(({ index, text }) => ({ index, text }))
      .toSorted((a, b) => a.index - b.index);
    return passages.length === 0 && !isFilled
      ? []
      : [{ file: file.name, total: all[hit]?.length ?? 0, passages }];
  });
}

/** Files of earlier questions of which the model has passages only. */
function largeFiles(conversation: Conversation): readonly Attachment[] {
  return thread(conversation).flatMap((message) => {
    if (message.role !== "user") return [];
    const names = new Set(message.excerpts?.map(({ file }) => file));
    return message.attachments.filter(({ name }) => names.has(name));
  });
}

function sentPassages(conversation: Conversation): ReadonlySet<string> {
  const excerpts = thread(conversation).flatMap((message) =>
    message.role === "user" ? (message.excerpts ?? []) : [],
  );
  return new Set(excerpts.flatMap(({ file, passages }) => passages.map(({ index }) => sentKey(file, index))));
}

const sentKey = (file: string, index: number): string => `${index} ${file}`;

function sizeOf(attachments: readonly Attachment[]): number {
  return attachments.reduce((sum, file) => sum + (textOf(file)?.length ?? 0), 0);
}
