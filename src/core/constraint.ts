// Constraint of an answer: JSON schema, regex or grammar. Compiled by the engine, which rejects what it cannot enforce.

/** One grammar of a set; exactly one of the first two is given. Grammars refer to each other by name (llguidance). */
export interface NamedGrammar {
  readonly name?: string;
  readonly jsonSchema?: unknown;
  readonly larkGrammar?: string;
}

export type Constraint =
  /** JSON text that is valid against the schema. `strict` false: keywords that cannot be enforced are left out, not refused. */
  | { readonly type: "json_schema"; readonly schema: unknown; readonly strict?: boolean }
  /** Text that the whole pattern matches. */
  | { readonly type: "regex"; readonly pattern: string }
  /** A grammar in llguidance's variant of Lark. */
  | { readonly type: "lark"; readonly grammar: string }
  | { readonly type: "grammars"; readonly grammars: readonly NamedGrammar[] };
