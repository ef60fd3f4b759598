// Objects without their undefined members: `exactOptionalPropertyTypes` tells an absent member from an undefined one.

type Defined<T> = {
  [K in keyof T as undefined extends T[K] ? never : K]: T[K];
} & {
  [K in keyof T as undefined extends T[K] ? K : never]?: Exclude<T[K], undefined>;
};

/** The members of `fields` that are not undefined, as in `{ a: 1, ...defined({ b }) }`. */
export function defined<T extends object>(fields: T): Defined<T> {
  const result = { ...fields };
  for (const key in result) if (result[key] === undefined) delete result[key];
  return result;
}
