// Which of several things has to go when there are too many: what its client can best do without, and never for the sake of a
// client who has more. Pure.

/** Something that takes one of the places, or a part of the room. */
export interface Holder<T> {
  readonly item: T;
  /** Who has it. */
  readonly client: string;
  /** Whether its client does not count on keeping it. */
  readonly isBrief?: boolean;
  /** What it takes; 1 if absent. */
  readonly size?: number;
  /** Whether it counts and cannot go: it is in use, or it is what room is made for. */
  readonly isFixed?: boolean;
}

/**
 * The oldest brief one, else the oldest of the client with the most; undefined where none may go. `holders` are oldest first. `asking`:
 * the client whose thing, among the holders already, needs room: others lose theirs to it only while they have more.
 */
export function leastWorth<T>(holders: readonly Holder<T>[], asking?: string): T | undefined {
  return victimsOf(holders, asking).next().value?.item;
}

/** Those that have to go, in that order, until the sizes add up to no more than `room`; undefined where that cannot be. */
export function leastWorthBeyond<T>(
  room: number,
  holders: readonly Holder<T>[],
  asking?: string,
): readonly T[] | undefined {
  let taken = holders.reduce((sum, { size = 1 }) => sum + size, 0);
  const gone: T[] = [];
  const victims = victimsOf(holders, asking);
  while (taken > room) {
    const { value: victim } = victims.next();
    if (victim === undefined) return undefined;
    gone.push(victim.item);
    taken -= victim.size ?? 1;
  }
  return gone;
}

/** One after the other, each chosen after those before have gone. */
function* victimsOf<T>(holders: readonly Holder<T>[], asking?: string): Generator<Holder<T>, undefined> {
  const held = new Map<string, number>();
  for (const { client, size = 1 } of holders) held.set(client, (held.get(client) ?? 0) + size);
  const of = (client: string): number => held.get(client) ?? 0;
  const take = (victim: Holder<T>): Holder<T> => {
    held.set(victim.client, of(victim.client) - (victim.size ?? 1));
    return victim;
  };
  const movable = holders.filter(({ isFixed }) => isFixed !== true).map((holder, age) => ({ holder, age }));
  const [brief = [], lasting = []] = [true, false].map((wanted) =>
    movable.filter(({ holder }) => (holder.isBrief === true) === wanted),
  );
  for (const { holder } of brief) yield take(holder);
  const queues = Map.groupBy(lasting.toReversed(), ({ holder }) => holder.client); // the oldest last
  for (;;) {
    const open = [...queues].flatMap(([client, queue]) => {
      const isOpen = asking === undefined || client === asking || of(client) > of(asking);
      return isOpen ? queue.slice(-1) : [];
    });
    const most = Math.max(...open.map(({ holder }) => of(holder.client)));
    const heaviest = open.filter(({ holder }) => of(holder.client) === most);
    const [next] = heaviest.toSorted((a, b) => a.age - b.age);
    if (next === undefined) return undefined;
    queues.get(next.holder.client)?.pop();
    yield take(next.holder);
  }
}
