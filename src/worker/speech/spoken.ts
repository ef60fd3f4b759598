// Text normalization: numbers, dates, times, money, units, abbreviations and addresses as English words, for every English voice.
// Rules run in order, each over the whole text; a later one sees the words of an earlier one.

import { cardinal, decimal, digits, ordinal, plural, romanDigits, year } from "./numbers.ts";

interface Rule {
  readonly pattern: RegExp;
  readonly say: (match: string, ...groups: string[]) => string;
}

const MONTHS = [
  "January",
  "February",
  "March",
  "April",
  "May",
  "June",
  "July",
  "August",
  "September",
  "October",
  "November",
  "December",
] as const;
const MONTH = `(${MONTHS.join("|")}|(?:Jan|Feb|Mar|Apr|Jun|Jul|Aug|Sept?|Oct|Nov|Dec)\\b\\.?)`;
/** Digits, in groups or not, with a decimal fraction or without. */
const NUMBER = "\\d{1,3}(?:,\\d{3}){1,5}(?:\\.\\d{1,12})?|\\d{1,20}(?:\\.\\d{1,12})?";
const SCALE = "hundred|thousand|million|billion|trillion|bn|[kKMB]";
const SCALES: Readonly<Record<string, string>> = { k: "thousand", m: "million", b: "billion", bn: "billion" };

/** One, many, one and many of the hundredth part. */
type Currency = readonly [string, string, string, string];
const DOLLAR: Currency = ["dollar", "dollars", "cent", "cents"];
const EURO: Currency = ["euro", "euros", "cent", "cents"];
const POUND: Currency = ["pound", "pounds", "penny", "pence"];
const CURRENCIES: Readonly<Record<string, Currency>> = {
  $: DOLLAR,
  USD: DOLLAR,
  "€": EURO,
  EUR: EURO,
  "£": POUND,
  GBP: POUND,
  "¥": ["yen", "yen", "sen", "sen"],
  "₹": ["rupee", "rupees", "paisa", "paise"],
};
const SIGN = "[$€£¥₹]|(?:USD|EUR|GBP)(?= ?\\d)";

/** One and many. */
const UNITS: Readonly<Record<string, readonly [string, string]>> = {
  km: ["kilometer", "kilometers"],
  cm: ["centimeter", "centimeters"],
  mm: ["millimeter", "millimeters"],
  nm: ["nanometer", "nanometers"],
  m: ["meter", "meters"],
  mi: ["mile", "miles"],
  ft: ["foot", "feet"],
  kg: ["kilogram", "kilograms"],
  mg: ["milligram", "milligrams"],
  g: ["gram", "grams"],
  lb: ["pound", "pounds"],
  lbs: ["pound", "pounds"],
  oz: ["ounce", "ounces"],
  ml: ["milliliter", "milliliters"],
  mL: ["milliliter", "milliliters"],
  L: ["liter", "liters"],
  ms: ["millisecond", "milliseconds"],
  s: ["second", "seconds"],
  sec: ["second", "seconds"],
  min: ["minute", "minutes"],
  h: ["hour", "hours"],
  hr: ["hour", "hours"],
  hrs: ["hour", "hours"],
  Hz: ["hertz", "hertz"],
  kHz: ["kilohertz", "kilohertz"],
  MHz: ["megahertz", "megahertz"],
  GHz: ["gigahertz", "gigahertz"],
  W: ["watt", "watts"],
  kW: ["kilowatt", "kilowatts"],
  kWh: ["kilowatt hour", "kilowatt hours"],
  V: ["volt", "volts"],
  kB: ["kilobyte", "kilobytes"],
  KB: ["kilobyte", "kilobytes"],
  MB: ["megabyte", "megabytes"],
  GB: ["gigabyte", "gigabytes"],
  TB: ["terabyte", "terabytes"],
  KiB: ["kibibyte", "kibibytes"],
  MiB: ["mebibyte", "mebibytes"],
  GiB: ["gibibyte", "gibibytes"],
  mph: ["mile per hour", "miles per hour"],
  "km/h": ["kilometer per hour", "kilometers per hour"],
  "°C": ["degree Celsius", "degrees Celsius"],
  "°F": ["degree Fahrenheit", "degrees Fahrenheit"],
  "°": ["degree", "degrees"],
};

/** Read out always; the full stop belongs to them. */
const ABBREVIATIONS: Readonly<Record<string, string>> = {
  "e.g.": "for example,",
  "i.e.": "that is,",
  "etc.": "et cetera",
  "vs.": "versus",
  "approx.": "approximately",
  "Inc.": "Incorporated",
  "Ltd.": "Limited",
  "Corp.": "Corporation",
  "Jr.": "Junior",
  "Sr.": "Senior",
  "Dept.": "Department",
  "Ave.": "Avenue",
  "Blvd.": "Boulevard",
};
/** Read out before a name. */
const TITLES: Readonly<Record<string, string>> = {
  Mr: "Mister",
  Mrs: "Missus",
  Ms: "Miz",
  Dr: "Doctor",
  Prof: "Professor",
  Mt: "Mount",
  Ft: "Fort",
  Gen: "General",
  Gov: "Governor",
  Sen: "Senator",
  Rep: "Representative",
  Capt: "Captain",
  Lt: "Lieutenant",
  Col: "Colonel",
  Sgt: "Sergeant",
  Rev: "Reverend",
};
/** Read out before a number. */
const NUMBERED: Readonly<Record<string, string>> = {
  No: "Number",
  no: "number",
  Fig: "Figure",
  fig: "figure",
  Vol: "Volume",
  vol: "volume",
  Ch: "Chapter",
  ch: "chapter",
  p: "page",
  pp: "pages",
  Sec: "Section",
};
const FRACTIONS = "half third quarter fifth sixth seventh eighth ninth tenth".split(" ");
const GLYPHS: Readonly<Record<string, string>> = {
  "½": "1/2",
  "¼": "1/4",
  "¾": "3/4",
  "⅓": "1/3",
  "⅔": "2/3",
};

const anyOf = (words: Readonly<Record<string, unknown>>): string =>
  Object.keys(words)
    .toSorted((a, b) => b.length - a.length)
    .map((word) => word.replace(/[.$/]/g, "\\$&"))
    .join("|");

const isOne = (number: string): boolean => number === "1";
const isMonth = (month: number): boolean => month >= 1 && month <= 12;
const isDay = (day: number): boolean => day >= 1 && day <= 31;
const monthNamed = (text: string): string => MONTHS.find((name) => name.startsWith(text.slice(0, 3))) ?? text;

function date(yearText: string, month: number, day: number): string | undefined {
  const name = MONTHS[month - 1];
  if (name === undefined || !isDay(day)) return undefined;
  return `${name} ${ordinal(String(day))}, ${year(yearText)}`;
}

/** 3/14/2026, or the day first where it cannot be a month. */
function slashed(match: string, first: string, second: string, yearText: string): string {
  const [a, b] = [Number(first), Number(second)];
  const full = yearText.length === 4 ? yearText : `${Number(yearText) > 50 ? 19 : 20}${yearText}`;
  return (isMonth(a) ? date(full, a, b) : date(full, b, a)) ?? match;
}

function time(match: string, hour: string, minute: string, second = "", half = ""): string {
  if (Number(hour) > 24 || Number(minute) > 59 || Number(second) > 59) return match;
  const past = Number(minute) < 10 ? `oh ${cardinal(String(Number(minute)))}` : cardinal(minute);
  const onTheHour = half === "" ? " o'clock" : "";
  const minutes = Number(minute) === 0 ? (second === "" ? onTheHour : " hundred hours") : ` ${past}`;
  const seconds = second === "" ? "" : ` and ${cardinal(String(Number(second)))} seconds`;
  const letters = half === "" ? "" : ` ${half.toUpperCase()} M`;
  return `${cardinal(String(Number(hour)))}${minutes}${seconds}${letters}`;
}

function money(sign: string, amount: string, scale = ""): string {
  const currency = CURRENCIES[sign];
  if (currency === undefined) return `${sign}${amount}${scale}`;
  const [one, many, cent, cents] = currency;
  if (scale !== "") return `${decimal(amount)} ${SCALES[scale.toLowerCase()] ?? scale} ${many}`;
  const [whole = "", part] = amount.split(".");
  if (part === undefined) return `${cardinal(whole)} ${isOne(whole) ? one : many}`;
  if (part.length !== 2) return `${decimal(amount)} ${many}`;
  const parts = `${cardinal(String(Number(part)))} ${part === "01" ? cent : cents}`;
  const wholes = `${cardinal(whole)} ${isOne(whole) ? one : many}`;
  if (Number(part) === 0) return wholes;
  return Number(whole) === 0 ? parts : `${wholes} and ${parts}`;
}

function fraction(_: string, above: string, below: string): string {
  const [a, b] = [Number(above), Number(below)];
  const unit = FRACTIONS[b - 2];
  if (unit === undefined || a < 1 || a >= b) return `${cardinal(above)} slash ${cardinal(below)}`;
  if (b === 2) return "one half";
  return `${cardinal(above)} ${unit}${a === 1 ? "" : "s"}`;
}

/** A web address or one of mail: its dots and slashes are said. */
function address(match: string): string {
  const shown = match.replace(/^https?:\/\/(?:www\.)?/, "");
  const end = /[.,;:!?)]*$/.exec(shown)?.[0] ?? "";
  const words = shown
    .slice(0, shown.length - end.length)
    .replace(/\/$/, "")
    .replaceAll("@", " at ")
    .replaceAll(".", " dot ")
    .replaceAll("/", " slash ")
    .replaceAll("-", " dash ")
    .replaceAll("_", " underscore ");
  return words + end;
}

/** A number by itself: 1990 is a year, 1,990 is not; 007 and account numbers are digits. */
function plainNumber(number: string): string {
  return /^(?:1[1-9]|20)\d\d$/.test(number) ? year(number) : decimal(number);
}

const RULES: readonly Rule[] = [
  { pattern: /[½¼¾⅓⅔]/g, say: (glyph) => ` ${GLYPHS[glyph] ?? glyph}` },
  { pattern: /https?:\/\/[^\s<>"]{1,2000}/g, say: address },
  { pattern: /(?<![\w.])[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,4}/g, say: address },
  {
    pattern:
      /(?<![\w.@-])(?:[a-z0-9-]{1,63}\.){1,3}(?:com|org|net|io|dev|ai|edu|gov)\b(?:\/[\w./-]{0,200})?/g,
    say: address,
  },
  { pattern: new RegExp(`(?<![\\w.])(${anyOf(ABBREVIATIONS)})`, "g"), say: abbreviation },
  {
    pattern: new RegExp(`\\b(${anyOf(TITLES)})(?:\\.|(?<=Mrs?|Ms|Dr)) (?=[A-Z]|and [A-Z])`, "g"),
    say: (_, title) => `${TITLES[title] ?? title} `,
  },
  { pattern: /(?<=[A-Z]\w{1,30} )St\.(?=[\s,;.]|$)/g, say: () => "Street" },
  { pattern: /\bSt\. ?(?=[A-Z])/g, say: () => "Saint " },
  {
    pattern: new RegExp(`\\b(${anyOf(NUMBERED)})\\. ?(?=\\d)`, "g"),
    say: (_, word) => `${NUMBERED[word] ?? word} `,
  },
  { pattern: /(?<![\w&])#(?=\d)/g, say: () => "number " },
  {
    pattern:
      /\b(Chapter|Part|Book|Volume|Act|Phase|Type|War|Section|Title) ((?=[IVXLC])X{0,3}(?:IX|IV|V?I{0,3}))\b/g,
    say: (_, word, numeral) => `${word} ${cardinal(romanDigits(numeral))}`,
  },
  {
    pattern:
      /\b(Henry|Louis|Charles|George|Edward|Elizabeth|Richard|William|James|Pope \w{1,20}|Queen \w{1,20}|King \w{1,20}) ((?=[IVX])X{0,3}(?:IX|IV|V?I{0,3}))\b(?!['.]\w)/g,
    say: (_, name, numeral) => `${name} the ${ordinal(romanDigits(numeral))}`,
  },
  {
    pattern:
      /\b(\d{1,2}):(\d{2})(?::(\d{2}))?(?: ?([AaPp])(?:[Mm]\b|\.[Mm]\b\.(?!\s*$|\s+[A-Z])|\.[Mm]\b))?(?![\d:])/g,
    say: (match, ...groups) => time(match, groups[0] ?? "", groups[1] ?? "", groups[2], groups[3]),
  },
  {
    pattern: /\b(\d{1,2}) ?([AaPp])(?:[Mm]\b|\.[Mm]\b\.(?!\s*$|\s+[A-Z])|\.[Mm]\b)/g,
    say: (_, hour, half) => `${cardinal(hour)} ${half.toUpperCase()} M`,
  },
  {
    pattern: /(?<![\w-])(\d{4})-(\d{2})-(\d{2})(?![\w-])/g,
    say: (match, y, month, day) => date(y, Number(month), Number(day)) ?? match,
  },
  { pattern: /(?<![\w/])(\d{1,2})\/(\d{1,2})\/(\d{4}|\d{2})(?![\w/])/g, say: slashed },
  {
    pattern: new RegExp(`\\b${MONTH} (\\d{1,2})(?:st|nd|rd|th)?\\b(?![\\d:%.]\\d)(?:,? (\\d{4})\\b)?`, "g"),
    say: (match, month, day, y) =>
      isDay(Number(day))
        ? `${monthNamed(month)} ${ordinal(day)}${y === undefined ? "" : `, ${year(y)}`}`
        : match,
  },
  {
    pattern: new RegExp(`\\b(?:[Tt]he )?(\\d{1,2})(?:st|nd|rd|th)? (?:of )?${MONTH}(?: (\\d{4})\\b)?`, "g"),
    say: (match, day, month, y) =>
      isDay(Number(day))
        ? `the ${ordinal(day)} of ${monthNamed(month)}${y === undefined ? "" : `, ${year(y)}`}`
        : match,
  },
  {
    pattern: new RegExp(`(${SIGN}) ?(${NUMBER})(?: ?(${SCALE})\\b)?`, "g"),
    say: (_, sign, amount, scale) => money(sign, amount, scale),
  },
  {
    pattern: /(?<![\w.,])(\d{1,9})(?:[.,](\d{2}))? ?([€£¥₹])/g,
    say: (_, whole, part, sign) => money(sign, part === undefined ? whole : `${whole}.${part}`),
  },
  { pattern: /(?<![\w-])\+?(?:\d{1,3}[ -])?\(?\d{3}\)?[ -]\d{3}-\d{4}(?![\w-])/g, say: phone },
  { pattern: /(?<![\w-])\d{3}-\d{4}(?![\w-])/g, say: phone },
  {
    pattern: new RegExp(`(?<![\\w.])(${NUMBER})(?: ?– ?|-)(?=(?:${NUMBER})(?![\\w-]))`, "g"),
    say: (_, from) => `${plainNumber(from)} to `,
  },
  { pattern: /(?<![\w.)-])[-−](?=\d)/g, say: () => "minus " },
  { pattern: /\b((?:1[1-9]|20)\d0)'?s\b/g, say: (_, decade) => plural(year(decade)) },
  { pattern: /(?<=\bthe |')(\d0)'?s\b/g, say: (_, decade) => plural(cardinal(decade)) },
  {
    pattern: /(?<![\w.])(\d{1,2})'(\d{1,2})"/g,
    say: (_, feet, inches) => `${cardinal(feet)} feet ${cardinal(inches)}`,
  },
  {
    pattern: new RegExp(`(?<![\\w.])(${NUMBER}) ?(${anyOf(UNITS)})(?!\\w)`, "g"),
    say: (match, number, unit) => {
      const [one, many] = UNITS[unit] ?? [match, match];
      return `${decimal(number)} ${isOne(number) ? one : many}`;
    },
  },
  { pattern: new RegExp(`(?<![\\w.])(${NUMBER}) ?%`, "g"), say: (_, number) => `${decimal(number)} percent` },
  {
    pattern: /(?<![\w.])(\d{1,2}) (\d)\/(\d{1,2})(?![\w/])/g,
    say: (match, whole, a, b) => `${cardinal(whole)} and ${fraction(match, a, b)}`,
  },
  { pattern: /(?<![\w/.])(\d{1,3})\/(\d{1,3})(?![\w/])/g, say: fraction },
  {
    pattern: /(?<![\w.])(\d{1,15}|\d{1,3}(?:,\d{3}){1,4})(?:st|nd|rd|th)\b/g,
    say: (_, number) => ordinal(number),
  },
  {
    pattern: /(?<![\w.])(\d{1,9}(?:\.\d{1,9}){2,5})(?!\w)/g,
    say: (_, version) => version.split(".").map(cardinal).join(" point "),
  },
  { pattern: /(?<![\w.])\.(\d{1,12})/g, say: (_, part) => `point ${digits(part)}` },
  { pattern: /(?<=\p{L})-(?=\d)/gu, say: () => " " },
  { pattern: /(?<=\p{L})(?=\d)|(?<=\d)(?=\p{L})/gu, say: () => " " },
  { pattern: new RegExp(`(?<![\\w.])(?:${NUMBER})`, "g"), say: plainNumber },
  { pattern: /\d{1,20}/g, say: (number) => ` ${cardinal(number)} ` },
  { pattern: / ?&(?:amp;)? ?/g, say: () => " and " },
  { pattern: /(?<=\w) ?= ?(?=\w)/g, say: () => " equals " },
  { pattern: /(?<=\w) \+ (?=\w)/g, say: () => " plus " },
  { pattern: /(?<=\w)@(?=\w)/g, say: () => " at " },
  { pattern: /%/g, say: () => " percent " },
];

/** Its full stop may end a sentence, too. */
function abbreviation(_: string, short: string, ...rest: unknown[]): string {
  const [offset, whole] = rest as [number, string];
  const end = offset + short.length;
  const isEnd = /^(?:\s*$|\s+[A-Z])/.test(whole.slice(end, end + 4));
  const words = ABBREVIATIONS[short] ?? short;
  const canEnd = /^(?:[A-Z]|et cetera)/.test(words);
  return isEnd && canEnd ? `${words}.` : words;
}

function phone(number: string): string {
  return number
    .split(/[ ()+-]+/)
    .filter((group) => group !== "")
    .map(digits)
    .join(", ");
}

/** The text as one says it: without digits, known abbreviations, and symbols that stand for words. */
export function spokenEnglish(text: string): string {
  return RULES.reduce((said, { pattern, say }) => said.replace(pattern, say), text);
}
