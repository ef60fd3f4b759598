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
    ["adds without end", `a\n{{ 1${"+1".repeat(50_000)} }}`, "line 2: the template is nested more than"],
    ["filters without end", `{{ x${"|trim".repeat(200_000)} }}`, "line 1: the template is nested more than"],
    ["takes members without end", `{{ x${".a".repeat(200_000)} }}`, "nested more than"],
    ["takes items without end", `{{ x${"[0]".repeat(200_000)} }}`, "nested more than"],
    ["calls without end", `{{ x${"()".repeat(200_000)} }}`, "nested more than"],
    ["slices without end", `{{ x${"[:]".repeat(200_000)} }}`, "nested more than"],
    [
      "formats fields of formats",
      "{{ ('{0:'*20000 ~ '}'*20000).format(1) }}",
      "Max string recursion exceeded",
    ],
    ["makes many slices", "{{ [1]|slice(36028797018963968)|list }}", "MiB"],
    ["makes so many slices that their number overflows", "{{ [1]|slice(72057594037927936)|list }}", "MiB"],
    ["makes a very long text", "{{ 'ab' * 9223372036854775807 }}", "MiB"],
    ["makes a very long list", "{{ [1] * 9223372036854775807 }}", "MiB"],
    ["fills a batch", "{{ [1]|batch(9223372036854775807, 0)|list }}", "MiB"],
    ["makes a list of letters", "{{ ('a' * 30000000)|list|length }}", "more than"],
    [
      "cuts a text",
      "{{ ('a ' * 1500000).split()|length }}{{ ('a\\n' * 1500000).splitlines()|length }}",
      "MiB",
    ],
    ["cuts a text into many pieces", "{{ ('a' * 30000000).split('a')|length }}", "pieces"],
    [
      "compares lists that hold the same list twice",
      "{% set n = namespace(a=[1], b=[1]) %}{% for i in range(28) %}{% set n.a = [n.a, n.a] %}" +
        "{% set n.b = [n.b, n.b] %}{% endfor %}{{ n.a == n.b }}",
      "steps",
    ],
    [
      "has loops of nothing",
      "{% for i in range(9999) %}{% for j in range(99999) %}{% endfor %}{% endfor %}",
      "steps",
    ],
    [
      "copies a text of many parts",
      "{% set n = namespace(a='') %}{% for i in range(9999) %}{% set n.a = n.a ~ 'a' %}{% endfor %}{% set l = [] %}" +
        "{% for i in range(9999) %}{% do l.append(n.a ~ i) %}{% endfor %}",
      "MiB",
    ],
    ["writes a number as a letter", "{{ '%c' % 1114200 }}", "not in range"],
    ["writes a large number", "{{ '%d' % 1e30 }}", "64 bits"],
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

test.each([100_000, 501])("JSON of a request that is nested %d deep is refused", (depth) => {
  const c = "[".repeat(depth) + "]".repeat(depth);
  expect(rendered("{% set x = c|from_json %}{{ x }}", JSON.stringify({ c }))).toContain(
    "nested more than 500 deep",
  );
});

test("steps of a slice that lead out of the list or the text end it", () => {
  const most = "9223372036854775807";
  expect(textOf(`{{ [1, 2, 3][1::${most}] }}{{ 'ab'[1::${most}] }}`)).toBe("[2]b");
  expect(textOf(`{{ [1, 2, 3][1::-${most}] }}{{ 'ab'[1::-${most}] }}`)).toBe("[2]b");
  expect(textOf(`{{ [1, 2, 3][::-${most}] }}`)).toBe("[3]");
});

test("nothing is repeated at once", () => {
  expect(
    textOf("{{ '' * 9223372036854775807 }}{{ [] * 9223372036854775807 }}{{ () * 9223372036854775807 }}"),
  ).toBe("[]()");
});

test("keys are removed as they are held", () => {
  const template = "{% set d = {'a': 1} %}{% do d.pop('a'|safe) %}{% do d.update({'a': 2}) %}{{ d }}";
  expect(textOf(template)).toBe("{'a': 2}");
});

test("formats may have fields, and those again", () => {
  expect(textOf("{{ '{0:{1}}'.format('a', 5) }}|{{ '{0:{1:{2}}}'.format('a', 5, 1) }}|")).toBe(
    "a    |a    |",
  );
});

describe("long conversations are rendered by templates that", () => {
  const messages = Array.from({ length: 8000 }, (_, i) => ({
    role: i % 2 === 0 ? "user" : "assistant",
    content: `Message ${i} of many`,
  }));
  const isShown = (template: string, some: typeof messages): void => {
    const outcome = rendered(template, JSON.stringify({ messages: some }));
    const shown = some.map(({ content }) => content).join("");
    expect(typeof outcome === "string" ? outcome : outcome.text === shown).toBe(true);
  };
  test.each([
    [
      "append to a text",
      "{% set ns = namespace(out='') %}{% for m in messages %}{% set ns.out = ns.out ~ m.content %}{% endfor %}{{ ns.out }}",
    ],
    [
      "add to a text",
      "{% set ns = namespace(out='') %}{% for m in messages %}{% set ns.out = ns.out + m.content %}{% endfor %}{{ ns.out }}",
    ],
    [
      "add to a list",
      "{% set ns = namespace(l=[]) %}{% for m in messages %}{% set ns.l = ns.l + [m.content] %}{% endfor %}{{ ns.l|join }}",
    ],
    [
      "look at the last",
      "{% for m in messages %}{{ m.content if (messages|last).role and (messages|first) }}{% endfor %}",
    ],
    [
      "copy the rest",
      "{% for m in messages %}{% set rest = messages[loop.index:] %}{{ m.content }}{% endfor %}",
    ],
  ])("%s", (_, template) => isShown(template, messages));

  test("look back from each message", () =>
    isShown(
      "{% for m in messages %}{% set ns = namespace(found=false) %}{% for j in range(loop.index0 - 1, -1, -1) %}" +
        "{% if not ns.found %}{% if messages[j].role != 'tool' %}{% set ns.found = true %}{% endif %}{% endif %}" +
        "{% endfor %}{{ m.content }}{% endfor %}",
      messages.slice(0, 1500), // their pairs are the work
    ));
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
