// Settings of the current conversation, which are also the initial settings of new ones.

import { X } from "lucide";
import { defined } from "../../src/core/defined.ts";
import { DRAW_OPTIONS, PENALTY_OPTIONS, type SamplingName, samplingOption } from "../../src/core/sampling.ts";
import type { Conversation, Settings } from "../state/conversation.ts";
import { DEFAULT_SETTINGS } from "../state/conversation.ts";
import { cardOf } from "../state/model-card.ts";
import { models } from "../state/models.ts";
import { current, setSettings } from "../state/conversations.ts";
import { AssistantSettings } from "./assistants.tsx";
import { ModelDefaults } from "../pages/model-defaults.tsx";
import { Icon } from "./icon.tsx";
import { isPanelOpen, PANEL_CLOSE_ID } from "./layout.ts";
import { NumberField, SelectField, SwitchField, TextField, type FieldRange } from "./fields.tsx";
import { PromptSettings } from "./prompts.tsx";
import { McpSettings } from "./mcp-settings.tsx";
import { SessionSettings } from "./session-settings.tsx";
import { LANGUAGE_TAGS, LANGUAGES, t } from "../texts/texts.ts";
import { type Prefs, prefs, setPrefs } from "../state/prefs.ts";
import { me } from "../state/me.ts";
import { signOut } from "../state/sign-in.ts";

export function SettingsPanel() {
  const conversation = current.value;
  if (conversation === undefined) return null;
  return (
    <aside class="panel" aria-label={t.chat.settings}>
      <header>
        <h2>{t.settings.title}</h2>
        <button
          type="button"
          class="ghost"
          id={PANEL_CLOSE_ID}
          aria-label={t.settings.close}
          onClick={() => (isPanelOpen.value = false)}
        >
          <Icon node={X} />
        </button>
      </header>
      <div class="panel-body">
        <Fields conversation={conversation} />
        <McpSettings conversation={conversation} />
        <AssistantSettings conversation={conversation} />
        <PromptSettings />
        <SessionSettings conversation={conversation} />
        <PageSettings />
      </div>
    </aside>
  );
}

/** What holds for the page rather than for a conversation. */
function PageSettings() {
  const languages = LANGUAGE_TAGS.map((tag) => [tag, LANGUAGES[tag].name] as const);
  const themes = (["system", "light", "dark"] as const).map((theme) => [theme, t.themes[theme]] as const);
  return (
    <fieldset>
      <legend>{t.settings.page}</legend>
      <SelectField
        label={t.settings.language}
        value={prefs.value.language}
        options={[["system", t.settings.browserLanguage], ...languages]}
        onChange={(language) => setPrefs({ language: language as Prefs["language"] })}
      />
      <SelectField
        label={t.settings.theme}
        value={prefs.value.theme}
        options={themes}
        onChange={(theme) => setPrefs({ theme: theme as Prefs["theme"] })}
      />
      {me.value?.signed_in_by === "proxy" && (
        <p>
          {t.key.signedInAs(me.value.name ?? "")} <a href="../oauth2/sign_out">{t.key.leaveProxy}</a>
        </p>
      )}
      {prefs.value.apiKey !== "" && (
        <p>
          {me.value?.name ? t.key.signedInAs(me.value.name) : t.key.stored}{" "}
          <button type="button" onClick={() => void signOut()}>
            {t.key.signOut}
          </button>
        </p>
      )}
      {!isSecureContext && <p class="faint">{t.settings.insecure}</p>}
    </fieldset>
  );
}

const efforts = () =>
  [
    ["", t.settings.modelDefault],
    ["off", t.settings.off],
    ["low", t.settings.low],
    ["medium", t.settings.medium],
    ["high", t.settings.high],
    ["xhigh", t.settings.highest],
  ] as const;

const permissions = () =>
  [
    ["", t.settings.serverDefault],
    ["auto", t.settings.auto],
    ["ask", t.settings.ask],
    ["deny", t.settings.never],
  ] as const;

type NumberRow = readonly [name: keyof Settings, label: string, hint: string, range: FieldRange];

/** Number fields of sampling: what is sent where they are empty and the model has no default, and their range. */
const numbers = (): readonly NumberRow[] => [
  ...DRAW_OPTIONS.map(optionRow),
  ["max_tokens", t.settings.maxTokens, t.settings.noCap, { min: 1, step: 1 }],
  ["seed", t.settings.seed, t.settings.random, { step: 1 }],
  ...PENALTY_OPTIONS.map(optionRow),
];

function optionRow(name: SamplingName): NumberRow {
  const { range, neutral, step } = samplingOption(name);
  const { minimum, exclusiveMinimum, maximum: max } = range;
  const min = minimum ?? (exclusiveMinimum === undefined ? undefined : exclusiveMinimum + LEAST_STEP);
  return [name, t.settings.options[name], String(neutral), { ...defined({ min, max }), step }];
}

const SAMPLING_FIELDS = [...DRAW_OPTIONS, ...PENALTY_OPTIONS, "max_tokens", "seed", "stop"] as const;

/** Settings under which the model's defaults hold. */
function samplingDefaults(): Partial<Settings> {
  return Object.fromEntries(SAMPLING_FIELDS.map((name) => [name, DEFAULT_SETTINGS[name]]));
}

/** From a bound that is no value itself to the next one. */
const LEAST_STEP = 0.01;

function Fields({ conversation: { id, settings, model } }: { readonly conversation: Conversation }) {
  const card = cardOf(models.value ?? [], model);
  const { system = false, summary_model: _, ...defaults } = card?.defaults ?? {};
  const hints: Readonly<Record<string, number | boolean | readonly string[]>> = defaults;
  const set = (part: Partial<Settings>): void => setSettings(id, { ...settings, ...part });
  const field = (name: keyof Settings) => ({
    value: settings[name] as never,
    onChange: (value: Settings[keyof Settings]) => set({ [name]: value }),
  });
  return (
    <>
      <TextField
        label={t.settings.system}
        rows={4}
        hint={system ? t.settings.ownSystem : ""}
        {...field("system")}
      />
      <SelectField label={t.answer.reasoning} options={efforts()} {...field("reasoning")} />
      <fieldset>
        <legend>{t.settings.sampling}</legend>
        <p class="faint">{t.settings.emptyFields}</p>
        {card !== undefined && <ModelDefaults card={card} />}
        <div class="pairs">
          {numbers().map(([name, label, hint, range]) => (
            <NumberField
              key={name}
              {...{ label, ...range }}
              hint={String(hints[name] ?? hint)}
              {...field(name)}
            />
          ))}
        </div>
        <TextField label={t.settings.stop} rows={2} {...field("stop")} />
        {SAMPLING_FIELDS.some((name) => settings[name] !== DEFAULT_SETTINGS[name]) && (
          <button type="button" onClick={() => set(samplingDefaults())}>
            {t.settings.resetSampling}
          </button>
        )}
      </fieldset>
      <ToolFields field={field} />
      <button type="button" onClick={() => set(DEFAULT_SETTINGS)}>
        {t.settings.reset}
      </button>
    </>
  );
}

/** Whether actions of tools need an approval. */
export function PermissionField(field: {
  readonly value: string;
  readonly onChange: (value: string) => void;
}) {
  return <SelectField label={t.settings.permission} options={permissions()} {...field} />;
}

interface ToolFieldsProps {
  readonly field: (name: keyof Settings) => {
    readonly value: never;
    readonly onChange: (value: Settings[keyof Settings]) => void;
  };
}

function ToolFields({ field }: ToolFieldsProps) {
  return (
    <fieldset>
      <legend>{t.settings.tools}</legend>
      <SwitchField label={t.settings.python} {...field("python")} />
      <SwitchField label={t.settings.shell} {...field("shell")} />
      <SwitchField label={t.settings.web} {...field("search")} />
      <PermissionField {...field("permission")} />
    </fieldset>
  );
}
