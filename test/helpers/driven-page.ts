// A page in a browser that is not Chromium, as far as the tests of those browsers need one.

import axe from "axe-core";

export interface DrivenPage {
  /** Value of an expression, which may be a promise of a string, number or boolean. Throws what it throws. */
  evaluate(expression: string): Promise<unknown>;
  /** Runs statements. */
  run(statements: string): Promise<void>;
  /** Types text into the focused element; "\uE007" is Enter. */
  type(text: string): Promise<void>;
  close(): Promise<void>;
}

/** Presses and releases the keys of a text, as actions of WebDriver. */
export function keyActions(text: string): readonly object[] {
  const actions = text.split("").flatMap((value) => [
    { type: "keyDown", value },
    { type: "keyUp", value },
  ]);
  return [{ type: "key", id: "keys", actions }];
}

/** Accessibility violations of a page, found by axe. */
export async function violationsOf({ evaluate, run }: DrivenPage): Promise<readonly string[]> {
  if ((await evaluate("typeof axe")) === "undefined") await run(axe.source);
  const found = await evaluate(
    "axe.run().then(({ violations }) => JSON.stringify(violations.map(({ id, nodes }) => `${id}: ${nodes[0]?.html ?? ''}`)))",
  );
  return JSON.parse(String(found)) as readonly string[];
}
