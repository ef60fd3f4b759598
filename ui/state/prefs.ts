// What a person has chosen for this browser, kept in its local storage.

import { type Static, Type } from "@sinclair/typebox";
import { Value } from "@sinclair/typebox/value";
import { effect, signal } from "@preact/signals";
import { DEFAULT_SETTINGS, Settings } from "./conversation.ts";

const KEY = "svc.prefs";

const ImagePrefs = Type.Object({
  /** "" is the server's default one. */
  model: Type.String(),
  /** Pixels. */
  width: Type.Integer({ minimum: 1 }),
  height: Type.Integer({ minimum: 1 }),
  count: Type.Integer({ minimum: 1 }),
});
export type ImagePrefs = Static<typeof ImagePrefs>;

const Prefs = Type.Object({
  theme: Type.Union([Type.Literal("system"), Type.Literal("light"), Type.Literal("dark")]),
  /** The model of new conversations; "" is the server's default one. */
  model: Type.String(),
  /** How new conversations are answered. */
  settings: Settings,
  apiKey: Type.String(),
  /** What pictures are asked for. */
  image: ImagePrefs,
  /** The model that speaks; "" is the server's default one. */
  voice: Type.String(),
});
export type Prefs = Static<typeof Prefs>;

const DEFAULT_PREFS: Prefs = {
  theme: "system",
  model: "",
  settings: DEFAULT_SETTINGS,
  apiKey: "",
  image: { model: "", width: 512, height: 512, count: 1 },
  voice: "",
};

export const prefs = signal<Prefs>(load());

export function setPrefs(change: Partial<Prefs>): void {
  prefs.value = { ...prefs.value, ...change };
}

/** Keeps the page's theme and the storage in step with the choice. */
export function watchPrefs(): void {
  effect(() => {
    document.documentElement.dataset["theme"] = prefs.value.theme;
    try {
      localStorage.setItem(KEY, JSON.stringify(prefs.value));
    } catch {
      // the browser keeps nothing for this page; the choice holds until it is closed
    }
  });
}

function load(): Prefs {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? "{}") as Partial<Prefs>;
    const value = { ...DEFAULT_PREFS, ...kept, settings: { ...DEFAULT_SETTINGS, ...kept.settings } };
    return Value.Check(Prefs, value) ? value : DEFAULT_PREFS;
  } catch {
    return DEFAULT_PREFS; // no storage, or something else's text in it
  }
}
