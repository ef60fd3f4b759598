// User preferences, stored in the browser's local storage.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { effect, signal } from "@preact/signals";
import { LANGUAGE_TAGS, languageOf, showLanguage } from "../texts/texts.ts";
import { DEFAULT_SETTINGS, Settings } from "./conversation.ts";

const KEY = "svc.prefs";

const ImagePrefs = Type.Object({
  /** "": the server's default model. */
  model: Type.String(),
  /** Pixels. */
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  count: Type.Integer({ minimum: 1 }),
});
export type ImagePrefs = Static<typeof ImagePrefs>;

const Prefs = Type.Object({
  /** A tag of texts/texts.ts; "system": that of the browser. */
  language: Type.Union([Type.Literal("system"), ...LANGUAGE_TAGS.map((tag) => Type.Literal(tag))]),
  theme: Type.Union([Type.Literal("system"), Type.Literal("light"), Type.Literal("dark")]),
  /** Model of new conversations; "": the server's default. */
  model: Type.String(),
  /** Settings of new conversations. */
  settings: Settings,
  apiKey: Type.String(),
  /** Folders of conversations that are folded. */
  folded: Type.Array(Type.String()),
  /** Options of the image page. */
  image: ImagePrefs,
  /** Speech model; "": the server's default. */
  voice: Type.String(),
});
export type Prefs = Static<typeof Prefs>;

const DEFAULT_PREFS: Prefs = {
  language: "system",
  theme: "system",
  model: "",
  settings: DEFAULT_SETTINGS,
  apiKey: "",
  folded: [],
  image: { model: "", width: 512, height: 512, count: 1 },
  voice: "",
};

export const prefs = signal<Prefs>(load());

export function setPrefs(change: Partial<Prefs>): void {
  prefs.value = { ...prefs.value, ...change };
}

/** Applies changed preferences to the page's language and theme, and saves them. */
export function watchPrefs(): void {
  effect(() => void showLanguage(languageOf(prefs.value.language, navigator.languages)));
  effect(() => {
    document.documentElement.dataset["theme"] = prefs.value.theme;
    try {
      localStorage.setItem(KEY, JSON.stringify(prefs.value));
    } catch {
      // storage is forbidden; preferences last until the page is closed
    }
  });
}

function load(): Prefs {
  try {
    const stored = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Prefs>;
    const value = { ...DEFAULT_PREFS, ...stored, settings: { ...DEFAULT_SETTINGS, ...stored.settings } };
    return Value.Check(Prefs, value) ? value : DEFAULT_PREFS;
  } catch {
    return DEFAULT_PREFS; // storage is forbidden or has invalid content
  }
}
