// Texts of messages without the contents and names of their files.

import { expect, test } from "bun:test";
import { comparable, wholeFile } from "../../src/core/input-file.ts";

const { text: WHOLE } = wholeFile("a.txt", "one\n[File: inner]\ntwo");
const { text: EMPTY } = wholeFile("b.txt", "");

test.each([
  [`Sum up: ${WHOLE}now`, "Sum up: [File: ]now"],
  [`${WHOLE}${EMPTY}[File: c.bin]`, "[File: ][File: ][File: ]"],
  ["[File: a.txt]\nno end", "[File: ]\nno end"],
  ["no file\n[End of file]\nat all", "no file\n[End of file]\nat all"],
])("%j", (text, expected) => expect(comparable(text)).toBe(expected));

// Read once from each beginning to the end, such a text takes minutes.
test.each(["[File: a]\n", "[File: "])("two million characters of %j take no time", (beginning) => {
  const text = beginning.repeat(2_000_000 / beginning.length);
  expect(comparable(text)).toHaveLength(text.replaceAll("[File: a]", "[File: ]").length);
});
