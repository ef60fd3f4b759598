// Converts the tree of a formula to MathML elements. Only the elements, attributes and styles listed below are allowed.
// Pure; the TeX translator is a parameter, because it is loaded with the first formula.
// Temml, since KaTeX brings its own HTML, 23 kB of style and twenty fonts, MathJax several times as much.

import { type ComponentChild, h } from "preact";
import type Temml from "temml";

/** A node of the translator's tree: an element, a text, or a group. */
interface MathNode {
  readonly type?: string;
  readonly text?: string;
  readonly attributes?: Readonly<Record<string, unknown>>;
  readonly classes?: readonly string[];
  readonly style?: Readonly<Record<string, unknown>>;
  readonly children?: readonly MathNode[];
}

const setOf = (text: string): ReadonlySet<string> => new Set(text.split(" "));

const ELEMENTS = setOf(
  "math menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms mspace msqrt mstyle " +
    "msub msubsup msup mtable mtd mtext mtr munder munderover none",
);
const ATTRIBUTES = setOf(
  "accent accentunder columnalign columnlines columnspacing depth display displaystyle fence form height largeop linethickness " +
    "lspace mathbackground mathcolor mathsize mathvariant maxsize minsize movablelimits notation rowlines rowspacing rspace " +
    "scriptlevel separator stretchy symmetric voffset width",
);
const STYLES = setOf(
  "backgroundColor border borderBottom borderLeft borderRight borderTop color display fontWeight margin marginLeft " +
    "marginRight mathDepth mathStyle padding paddingBottom paddingLeft paddingRight paddingTop textAlign verticalAlign width",
);
/** Sizes, colours and names. No brackets, hence no url(). */
const PLAIN_VALUE = /^[\w#%.+, -]*$/;

/** Largest width and height in a formula, em. */
const SIZE_MAX: [number, number] = [20, 20];
/** Cap on macro expansions in a formula. */
const EXPANSIONS_MAX = 500;

/** The elements of a formula; undefined for invalid TeX. */
export function mathElement(
  temml: typeof Temml,
  formula: string,
  isDisplay: boolean,
): ComponentChild | undefined {
  try {
    const options = { displayMode: isDisplay, throwOnError: true, trust: false };
    const bounds = { maxSize: SIZE_MAX, maxExpand: EXPANSIONS_MAX };
    return element(temml.__renderToMathMLTree(formula, { ...options, ...bounds }) as MathNode);
  } catch {
    return undefined; // also on stack overflow by nested formulas
  }
}

function element({ type, text, attributes, classes = [], style, children = [] }: MathNode): ComponentChild {
  if (type === undefined) return text ?? children.map(element);
  const inner = children.map(element);
  if (!ELEMENTS.has(type)) return inner;
  const styles = allowed(style, STYLES);
  return h(
    type,
    {
      ...allowed(attributes, ATTRIBUTES),
      ...(classes.length === 0 ? {} : { class: classes.join(" ") }),
      ...(Object.keys(styles).length === 0 ? {} : { style: styles }),
    },
    inner,
  );
}

function allowed(
  values: Readonly<Record<string, unknown>> | undefined,
  names: ReadonlySet<string>,
): Readonly<Record<string, unknown>> {
  const isPlain = (value: unknown): boolean =>
    typeof value === "string"
      ? value !== "" && PLAIN_VALUE.test(value)
      : typeof value === "number" || typeof value === "boolean";
  return Object.fromEntries(
    Object.entries(values ?? {}).filter(([name, value]) => names.has(name) && isPlain(value)),
  );
}
