// Form fields with labels.

import type { ComponentChildren } from "preact";
import { useId } from "preact/hooks";

interface FormProps {
  readonly class?: string;
  readonly label?: string;
  readonly onSubmit: () => void;
  readonly children: ComponentChildren;
}

/** A form whose submission is a matter of the page alone. */
export function Form({ label, onSubmit, children, ...attributes }: FormProps) {
  return (
    <form
      {...attributes}
      aria-label={label}
      onSubmit={(event) => {
        event.preventDefault();
        onSubmit();
      }}
    >
      {children}
    </form>
  );
}

interface FieldProps<T> {
  readonly label: string;
  readonly value: T;
  readonly onChange: (value: T) => void;
}

interface TextFieldProps extends FieldProps<string> {
  readonly rows: number;
  /** Shown when empty. */
  readonly hint?: string;
}

export function TextField({ label, value, onChange, rows, hint }: TextFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <textarea
        rows={rows}
        placeholder={hint}
        value={value}
        onInput={({ currentTarget }) => onChange(currentTarget.value)}
      />
    </label>
  );
}

interface InlineFieldProps extends FieldProps<string> {
  /** Shown when empty. */
  readonly hint: string;
  readonly required?: boolean;
}

/** A text on one line, as wide as there is room, without a visible label. */
export function InlineField({ label, value, onChange, hint, required = false }: InlineFieldProps) {
  return (
    <input
      class="grow"
      aria-label={label}
      placeholder={hint}
      required={required}
      value={value}
      onInput={({ currentTarget }) => onChange(currentTarget.value)}
    />
  );
}

interface LineFieldProps extends FieldProps<string> {
  readonly kind?: "text" | "address" | "secret";
  /** Shown when empty: an example. */
  readonly hint?: string;
  readonly required?: boolean;
}

/** A text on one line. */
export function LineField({
  label,
  value,
  onChange,
  kind = "text",
  hint = "",
  required = false,
}: LineFieldProps) {
  const input = {
    placeholder: hint,
    required,
    value,
    onInput: ({ currentTarget }: { readonly currentTarget: HTMLInputElement }) =>
      onChange(currentTarget.value),
  };
  return (
    <label class="field">
      <span>{label}</span>
      {kind === "text" && <input autocomplete="off" {...input} />}
      {kind === "address" && <input type="url" {...input} />}
      {kind === "secret" && <input type="password" autocomplete="off" {...input} />}
    </label>
  );
}

export interface FieldRange {
  readonly min?: number;
  readonly max?: number;
  readonly step: number;
}

interface NumberFieldProps extends FieldProps<number | null>, FieldRange {
  /** Shown when empty: the default. */
  readonly hint: string;
}

/** A number, or null when empty. Values out of range are marked; the server refuses them. */
export function NumberField({ label, hint, value, onChange, ...range }: NumberFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="number"
        inputMode="decimal"
        placeholder={hint}
        value={value ?? ""}
        onInput={({ currentTarget: { valueAsNumber } }) =>
          onChange(Number.isFinite(valueAsNumber) ? valueAsNumber : null)
        }
        {...range}
      />
    </label>
  );
}

interface RangeFieldProps extends FieldProps<number> {
  readonly min: number;
  readonly max: number;
  readonly step: number;
}

/** A number by a slider. */
export function RangeField({ label, value, onChange, ...range }: RangeFieldProps) {
  return (
    <label class="field">
      <span>{label}</span>
      <input
        type="range"
        value={value}
        onInput={({ currentTarget: { valueAsNumber } }) => onChange(valueAsNumber)}
        {...range}
      />
    </label>
  );
}

interface SelectFieldProps extends FieldProps<string> {
  readonly options: readonly (readonly [value: string, label: string])[];
}

export function SelectField({ label, value, onChange, options }: SelectFieldProps) {
  const id = useId();
  return (
    <div class="field">
      <label for={id}>{label}</label>
      <select id={id} value={value} onChange={({ currentTarget }) => onChange(currentTarget.value)}>
        {options.map(([option, name]) => (
          <option value={option}>{name}</option>
        ))}
      </select>
    </div>
  );
}

export function SwitchField({ label, value, onChange }: FieldProps<boolean>) {
  return (
    <label class="check">
      <input type="checkbox" role="switch" checked={value} onChange={() => onChange(!value)} />
      {label}
    </label>
  );
}
