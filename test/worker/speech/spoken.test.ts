// Numbers, dates, money, abbreviations and addresses as English words.

import { describe, expect, test } from "bun:test";
import { spokenEnglish } from "../../../src/worker/speech/spoken.ts";

const SAID: Readonly<Record<string, readonly (readonly [string, string])[]>> = {
  numbers: [
    [
      "0 7 10 42 100 110 999",
      "zero seven ten forty-two one hundred one hundred ten nine hundred ninety-nine",
    ],
    ["1,250 and 1000000", "one thousand two hundred fifty and one million"],
    ["007 and 12345678901234567890", /^zero zero seven and one two three /.source],
    ["3.14159, .5 and 2.50", "three point one four one five nine, point five and two point five zero"],
    ["-7 and −3", "minus seven and minus three"],
    ["1st, 2nd, 3rd, 21st, 30th, 100th", "first, second, third, twenty-first, thirtieth, one hundredth"],
    ["50% of 1/2, 3/4 and 2 1/2", "fifty percent of one half, three quarters and two and one half"],
    ["pages 10-20 and 3–5", "pages ten to twenty and three to five"],
    ["GPT4, GPT-4, x86, 3D", "GPT four, GPT four, x eighty-six, three D"],
    ["version 3.11.2", "version three point eleven point two"],
  ],
  "dates and times": [
    [
      "1984, 2005, 1905, 2000, 2026",
      "nineteen eighty-four, two thousand five, nineteen oh five, two thousand, twenty twenty-six",
    ],
    ["the 1990s and the 80s", "the nineteen nineties and the eighties"],
    ["March 3rd, 2024", "March third, twenty twenty-four"],
    ["Jan. 5, May 2024", "January fifth, May twenty twenty-four"],
    ["5 March 1945", "the fifth of March, nineteen forty-five"],
    [
      "2026-11-28 or 3/14/2026 or 31/12/99",
      "November twenty-eighth, twenty twenty-six or March fourteenth, twenty twenty-six or December thirty-first, nineteen ninety-nine",
    ],
    [
      "at 9:30, 9:05 pm, 10:00 and 14:00:30.",
      "at nine thirty, nine oh five P M, ten o'clock and fourteen hundred hours and thirty seconds.",
    ],
    ["5 p.m. today, 9am.", "five P M today, nine A M."],
    ["2026-13-45 and 99:99", /^twenty/.source],
  ],
  money: [
    [
      "$9.99, $1, $1.01, $0.05",
      "nine dollars and ninety-nine cents, one dollar, one dollar and one cent, five cents",
    ],
    [
      "€5, £3.50, 12,50 €, 5€",
      "five euros, three pounds and fifty pence, twelve euros and fifty cents, five euros",
    ],
    ["$3.2 billion, $5k, ¥1,000", "three point two billion dollars, five thousand dollars, one thousand yen"],
    ["USD 20", "twenty dollars"],
  ],
  units: [
    [
      "1 km, 3.5 GB, 20 km/h, 100 m",
      "one kilometer, three point five gigabytes, twenty kilometers per hour, one hundred meters",
    ],
    ["-5°C and 70 °F", "minus five degrees Celsius and seventy degrees Fahrenheit"],
    [`6'2" tall`, "six feet two tall"],
  ],
  abbreviations: [
    ["Dr. Smith and Mr. and Mrs. Jones", "Doctor Smith and Mister and Missus Jones"],
    ["St. Paul on Main St. today", "Saint Paul on Main Street today"],
    ["e.g. cats, i.e. us, etc. Then", "for example, cats, that is, us, et cetera. Then"],
    ["No. 5, Fig. 3, pp. 4-7, #1", "Number five, Figure three, pages four to seven, number one"],
    ["Chapter IV, Henry VIII, World War II", "Chapter four, Henry the eighth, World War two"],
    ["R&D", "R and D"],
    ["No. That is no good. I am I.", "No. That is no good. I am I."],
  ],
  addresses: [
    ["See https://www.example.com/a-b.", "See example dot com slash a dash b."],
    ["Mail a.b@c.org now", "Mail a dot b at c dot org now"],
    [
      "Call 555-1234 or (555) 123-4567",
      "Call five five five, one two three four or five five five, one two three, four five six seven",
    ],
  ],
};

for (const [kind, cases] of Object.entries(SAID)) {
  describe(kind, () => {
    for (const [written, said] of cases) {
      test(written, () => {
        if (said.startsWith("^")) expect(spokenEnglish(written)).toMatch(new RegExp(said));
        else expect(spokenEnglish(written)).toBe(said);
      });
    }
  });
}

test("leaves no digit, whatever stands around it", () => {
  for (const text of [
    "a1b2",
    "1.2.3.4.5.6.7.8",
    "1,2,3",
    "$",
    "1/2/3/4",
    "12:345",
    "0x1F",
    "1e9",
    "1-2-3",
    "№7",
  ])
    expect(spokenEnglish(text)).not.toMatch(/\d/);
});

test("takes time that grows with the text, not with its square", () => {
  const timeOf = (text: string): number => {
    const began = performance.now();
    spokenEnglish(text);
    return performance.now() - began;
  };
  for (const piece of [
    "1",
    "1,",
    "a@",
    "$1 ",
    "1/",
    "1-",
    "www.",
    "1.",
    "St. A",
    "e.g. ",
    "A1",
    "Dr. ",
    "a.",
    "Main ",
  ])
    expect(timeOf(piece.repeat(65_536 / piece.length))).toBeLessThan(3000);
});
