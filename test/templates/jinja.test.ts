// The template engine against recorded renderings of Python's Jinja2 (record-jinja.py), marks of the request's texts, and limits.

import { describe, expect, test } from "bun:test";
import { cText, nativeText, takeText } from "../../ffi/text.ts";
import { native } from "../helpers/native.ts";
import { describeWith } from "../helpers/programs.ts";
import recorded from "./jinja-probes.json";

interface Outcome {
  readonly text: string;
  /** Spans that came in with the request, bytes. */
  readonly inputs: readonly (readonly [number, number])[];
}

/** What the engine makes of a template; the reason where it refuses. */
function rendered(template: string, variables: string): Outcome | string {
  const out = native().svc_template_text(cText(template), cText(variables));
  if (out === null) return nativeText(native().svc_last_error());
  return JSON.parse(takeText(native(), out)) as Outcome;
}

function textOf(template: string, variables = "{}"): string | null {
  const outcome = rendered(template, variables);
  return typeof outcome === "string" ? null : outcome.text;
}

/** The parts of a rendering that count as the request's. */
function inputsOf(template: string, variables: string): readonly string[] {
  const outcome = rendered(template, variables);
  if (typeof outcome === "string") throw new Error(outcome);
  const bytes = Buffer.from(outcome.text);
  return outcome.inputs.map(([begin, end]) => bytes.subarray(begin, end).toString());
}

test("templates are rendered as Python's Jinja2 renders them, and refused where it refuses", () => {
  const { variables, probes } = recorded;
  const differing = probes.flatMap(([template, expected]) => {
    const is = textOf(String(template), variables);
    return is === expected ? [] : [{ template, is, expected }];
  });
  expect(differing).toEqual([]);
  expect(probes.length).toBeGreaterThan(800);
});

if (process.env["SVC_SLOW_TESTS"] === "1") {
  describeWith("python3")("with Python", () => {
    test("the recorded renderings are those of its Jinja2", () => {
      const script = new URL("record-jinja.py", import.meta.url).pathname;
      const { exitCode, stdout, stderr } = Bun.spawnSync(["python3", script, "--check"]);
      expect([exitCode, stdout.toString().trim(), stderr.toString()]).toEqual([0, "[]", ""]);
    });
  });
}

describe("what is not supported is refused when the template is read, with line and construct", () => {
  test.each([
    ["a\n{{ x|urlize }}", "line 2: No filter named 'urlize'"],
    ["{{ x is planar }}", "line 1: No test named 'planar'"],
    ["a\n\n{{ lookup('x') }}", "line 3: 'lookup' is called"],
    ["{% include 'other' %}", "line 1: 'include' is not supported"],
    ["{% trans %}x{% endtrans %}", "line 1: Encountered unknown tag 'trans'"],
    ["{{ x|map('nothing')|list }}", "line 1: No filter named 'nothing'"],
    ["{{ x|selectattr('a', 'planar')|list }}", "line 1: No test named 'planar'"],
    ["{{ x.encode() }}", "line 1: the method 'encode' is not supported"],
    ["{{ 99999999999999999999 }}", "line 1: integers of more than 64 bits"],
    ["{% if x %}\n{{ y }", "line 2: unexpected '}'"],
  ])("%s", (template, reason) => {
    expect(rendered(template, "{}")).toContain(reason);
  });
});

test("functions that a template looks for before it calls them may be missing", () => {
  expect(textOf("{% if lookup is defined %}{{ lookup('x') }}{% else %}none{% endif %}")).toBe("none");
});

describe("a template is ended with a reason where it", () => {
  test.each([
    ["calls itself", "{% macro a() %}{{ a() }}{% endmacro %}{{ a() }}", "levels deep"],
    ["nests parentheses", `{{ ${"(".repeat(50_000)}1${")".repeat(50_000)} }}`, "nested more than"],
    ["nests blocks", "{% if 1 %}".repeat(50_000), "nested more than"],
    ["negates without end", `{{ ${"not ".repeat(50_000)}1 }}`, "nested more than"],
    ["makes a long list", "{{ range(1000000000)|list }}", "Range too big"],
    ["makes a long text", "{{ 'a' * 1000000000 }}", "MiB"],
    [
      "doubles a text",
      "{% set n = namespace(a='aaaa') %}{% for i in range(99) %}{% set n.a = n.a + n.a %}{% endfor %}",
      "MiB",
    ],
    ["prints a list that contains itself", "{% set l = [1] %}{% do l.append(l) %}{{ l }}", "deep"],
    ["loops", "{% for i in range(99999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}", "more than"],
    ["pads", "{{ 'a'|center(999999999) }}{{ '%999999999d' % 1 }}", "MiB"],
    [
      "nests lists",
      "{% set n = namespace(a=[]) %}{% for i in range(99999) %}{% set n.a = [n.a] %}{% endfor %}",
      "nested more than",
    ],
  ])("%s", (_, template, reason) => {
    expect(rendered(template, "{}")).toContain(reason);
  });
});

describe("texts of the request keep their mark through", () => {
  const x = "ab<|end|>é";
  test.each([
    ["<t>{{ x }}</t>", [x]],
    ["{{ x|upper }}", ["AB<|END|>É"]],
    ["{{ ('<s>' + x)[3:] }}", [x]],
    ["{{ ('<s>' ~ x ~ '<e>').split('<|')[0] }}", ["ab"]],
    ["{{ x.replace('ab', '<|start|>') }}", ["<|end|>é"]],
    ["{{ '%s!' % x }}{{ '{}!'.format(x) }}", [x, x]],
    ["{{ [x, 1] }}", [x]],
    ["{{ {'k': x}|tojson }}", [x]],
    ["{{ x|list|join }}", [x]],
    ["{% for c in x %}{{ c }}{% endfor %}", [x]],
    ["{% set y %}<{{ x }}>{% endset %}{{ y|trim }}", [x]],
    ["{{ x|reverse }}", ["é>|dne|<ba"]],
    ["{{ (' ' + x + ' ')|trim }}", [x]],
    ["{{ x|e }}", ["ab&lt;|end|&gt;é"]],
    ["{{ x|truncate(5, true, '', 0) }}", ["ab<|e"]],
    ["{{ x.partition('|')[2] }}", ["end|>é"]],
    ["{{ [x]|map('upper')|first }}", ["AB<|END|>É"]],
    ["{% macro m(t) %}<m>{{ t }}{% endmacro %}{{ m(x) }}", [x]],
    ["{{ x|indent(2, true) }}", [x]],
    ["{{ '<|end|>' }}", []],
  ])("%s", (template, inputs) => {
    expect(inputsOf(template, JSON.stringify({ x }))).toEqual(inputs);
  });
});
