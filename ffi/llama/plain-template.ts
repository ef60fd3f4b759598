// A conversation with a model that has no chat template, as the text that it continues. A question stands as it was sent, so that a base
// model goes on from its last word; its answer stands right behind it, and the next question begins a paragraph. There is no markup: the
// vocabulary of such a model has none, and what it does not know ends no answer.
// Not ChatML, as llama.cpp has it: a base model reads its markup as text and repeats it until the context is full.

export const PLAIN_TEMPLATE =
  "{%- for message in messages -%}" +
  "{%- if message.role != 'assistant' and not loop.first -%}{{- '\\n\\n' -}}{%- endif -%}" +
  "{{- message.content -}}" +
  "{%- endfor -%}";
