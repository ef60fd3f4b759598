// Versions of releases: numbers with dots, and an optional suffix of what comes before (1.0.0-rc1).

/** Below 0 where `a` comes before `b`, above 0 after it. As install.sh compares. */
export function compareVersions(a: string, b: string): number {
  const [numbersA, suffixA] = split(a);
  const [numbersB, suffixB] = split(b);
  const length = Math.max(numbersA.length, numbersB.length);
  for (let at = 0; at < length; at++) {
    const difference = (numbersA[at] ?? 0) - (numbersB[at] ?? 0);
    if (difference !== 0) return difference;
  }
  if (suffixA === suffixB) return 0;
  if (suffixA === "" || suffixB === "") return suffixA === "" ? 1 : -1;
  return suffixA < suffixB ? -1 : 1;
}

function split(version: string): readonly [readonly number[], string] {
  const dash = version.indexOf("-");
  const plain = dash < 0 ? version : version.slice(0, dash);
  return [plain.split(".").map(Number), dash < 0 ? "" : version.slice(dash + 1)];
}
