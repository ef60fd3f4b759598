// The texts of the page in its language. A language is one file beside this one, and a row below.

import { signal } from "@preact/signals";
import { en, type Texts } from "./en.ts";

/** Languages by their tags, with their own names. Those besides English are loaded when they are first shown. */
export const LANGUAGES = {
  en: { name: "English", load: async (): Promise<Texts> => en },
  de: { name: "Deutsch", load: async (): Promise<Texts> => (await import("./de.ts")).de },
} as const;

export type Language = keyof typeof LANGUAGES;

const shown = signal<Texts>(en);

/** The texts of the present language. What is made of them at the start of a file would not follow a change of it. */
export const t: Texts = new Proxy(en, { get: (_, area) => shown.value[area as keyof Texts] });

/** The language of a choice: the first one of the browser that there is, unless another one is chosen. */
export function languageOf(choice: Language | "system", browser: readonly string[]): Language {
  if (choice !== "system") return choice;
  const tags = browser.map((tag) => tag.toLowerCase().split("-", 1)[0]);
  return tags.flatMap((tag) => LANGUAGE_TAGS.find((known) => known === tag) ?? [])[0] ?? "en";
}

export const LANGUAGE_TAGS = Object.keys(LANGUAGES) as readonly Language[];

let wanted: Language = "en";

/** Shows the page in a language. */
export async function showLanguage(language: Language): Promise<void> {
  wanted = language;
  try {
    const texts = await LANGUAGES[language].load();
    if (wanted !== language) return; // another one was chosen meanwhile
    shown.value = texts;
    document.documentElement.lang = language;
  } catch {
    // the server is away or was updated; the page stays in its language
  }
}
