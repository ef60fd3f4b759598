import type { ModelSettings } from "./settings.ts";

/** The file with the chat template that settings name for a model; undefined where its own counts. */
export function templateFile(
  model: ModelSettings,
  { runtime }: { readonly runtime: { readonly chat_template?: string | undefined } },
): string | undefined {
  return model.chat_template ?? runtime.chat_template;
}
