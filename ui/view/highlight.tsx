// Syntax highlighting. The highlighter returns a tree, which is converted to elements without any HTML string.

import bash from "highlight.js/lib/languages/bash";
import c from "highlight.js/lib/languages/c";
import cpp from "highlight.js/lib/languages/cpp";
import csharp from "highlight.js/lib/languages/csharp";
import css from "highlight.js/lib/languages/css";
import diff from "highlight.js/lib/languages/diff";
import dockerfile from "highlight.js/lib/languages/dockerfile";
import go from "highlight.js/lib/languages/go";
import ini from "highlight.js/lib/languages/ini";
import java from "highlight.js/lib/languages/java";
import javascript from "highlight.js/lib/languages/javascript";
import json from "highlight.js/lib/languages/json";
import kotlin from "highlight.js/lib/languages/kotlin";
import lua from "highlight.js/lib/languages/lua";
import markdown from "highlight.js/lib/languages/markdown";
import php from "highlight.js/lib/languages/php";
import python from "highlight.js/lib/languages/python";
import ruby from "highlight.js/lib/languages/ruby";
import rust from "highlight.js/lib/languages/rust";
import sql from "highlight.js/lib/languages/sql";
import swift from "highlight.js/lib/languages/swift";
import typescript from "highlight.js/lib/languages/typescript";
import xml from "highlight.js/lib/languages/xml";
import yaml from "highlight.js/lib/languages/yaml";
import { createLowlight } from "lowlight";
import type { ComponentChild } from "preact";

const lowlight = createLowlight({
  bash,
  c,
  cpp,
  csharp,
  css,
  diff,
  dockerfile,
  go,
  ini,
  java,
  javascript,
  json,
  kotlin,
  lua,
  markdown,
  php,
  python,
  ruby,
  rust,
  sql,
  swift,
  typescript,
  xml,
  yaml,
});

/** Longer code is not highlighted, because a growing block is highlighted again with every update. Characters. */
const CHARS_MAX = 30_000;

type Tree = ReturnType<typeof lowlight.highlight>["children"][number];

/** Elements of highlighted code; plain text for an unknown language. */
export function highlighted(code: string, language: string): ComponentChild {
  if (code.length > CHARS_MAX || !lowlight.registered(language)) return code;
  return lowlight.highlight(language, code).children.map(element);
}

function element(node: Tree): ComponentChild {
  if (node.type === "text") return node.value;
  if (node.type !== "element") return null;
  const names = node.properties["className"];
  return <span class={Array.isArray(names) ? names.join(" ") : ""}>{node.children.map(element)}</span>;
}
