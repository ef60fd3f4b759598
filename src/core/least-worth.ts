// Which of several things has to go when there are too many: what its client can best do without, and never for the sake of a
// client who has more. Pure.

/** Something that takes one of the places. */
export interface Holder<T> {
  readonly item: T;
  /** Who has it. */
  readonly client: string;
  /** Whether its client does not count on keeping it. */
  readonly isBrief: boolean;
}

/** The oldest brief one, else the oldest of the client with the most. `holders` are oldest first; undefined for none. */
export function leastWorth<T>(holders: readonly Holder<T>[]): T | undefined {
  const brief = holders.find(({ isBrief }) => isBrief);
  if (brief !== undefined) return brief.item;
  const counts = new Map<string, number>();
  for (const { client } of holders) counts.set(client, (counts.get(client) ?? 0) + 1);
  const most = Math.max(0, ...counts.values());
  return holders.find(({ client }) => counts.get(client) === most)?.item;
}
