// Other names for models, by settings: exact ones and patterns (`claude-*`). Pure.

/** Characters of a model's name that are matched with patterns of aliases. */
const ALIASED_NAME_CHARS_MAX = 512;

export interface ModelAlias {
  /** A name, or a pattern: `*` stands for any characters, `?` for one. */
  readonly name: string;
  /** Name that requests would send instead. */
  readonly model: string;
}

/** Target of an alias. */
export interface ModelAliases {
  /** The model of the alias of exactly this name; undefined without one. */
  exact(name: string): string | undefined;
  /** The same; otherwise the model of the longest pattern that matches. */
  fitting(name: string): string | undefined;
}

/** Whether an alias is a pattern. */
function isPattern(name: string): boolean {
  return /[*?]/.test(name);
}

/** Aliases by name. Of patterns of one length the first counts. */
export function modelAliases(aliases: readonly ModelAlias[]): ModelAliases {
  const exactOnes = new Map(
    aliases.filter(({ name }) => !isPattern(name)).map((one) => [one.name, one.model]),
  );
  const patterns = aliases
    .filter(({ name }) => isPattern(name))
    .map(({ name, model }) => ({
      literals: name.replaceAll("*", "").length,
      expression: expressionOf(name),
      model,
    }))
    .sort((a, b) => b.literals - a.literals);
  const exact = (name: string) => exactOnes.get(name);
  return {
    exact,
    fitting: (name) => {
      const found = exact(name);
      if (found !== undefined || name.length > ALIASED_NAME_CHARS_MAX) return found;
      return patterns.find(({ expression }) => expression.test(name))?.model;
    },
  };
}

function expressionOf(pattern: string): RegExp {
  const parts = pattern.split(/([*?])/).map((part) => {
    if (part === "*") return ".*";
    return part === "?" ? "." : RegExp.escape(part);
  });
  return new RegExp(`^${parts.join("")}$`, "su");
}
