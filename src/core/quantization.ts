// Types that weights can be stored in, by the names that people and llama.cpp's tools use.

/** Name → llama_ftype number (llama.h: enum llama_ftype). */
const FILE_TYPES = {
  F32: 0,
  F16: 1,
  BF16: 32,
  Q2_K: 10,
  Q2_K_S: 21,
  Q3_K_S: 11,
  Q3_K_M: 12,
  Q3_K_L: 13,
  Q4_0: 2,
  Q4_1: 3,
  Q4_K_S: 14,
  Q4_K_M: 15,
  Q5_0: 8,
  Q5_1: 9,
  Q5_K_S: 16,
  Q5_K_M: 17,
  Q6_K: 18,
  Q8_0: 7,
  IQ1_S: 24,
  IQ1_M: 31,
  IQ2_XXS: 19,
  IQ2_XS: 20,
  IQ2_S: 28,
  IQ2_M: 29,
  IQ3_XXS: 23,
  IQ3_XS: 22,
  IQ3_S: 26,
  IQ3_M: 27,
  IQ4_NL: 25,
  IQ4_XS: 30,
  TQ1_0: 36,
  TQ2_0: 37,
} as const;

export type FileType = keyof typeof FILE_TYPES;

export const FILE_TYPE_NAMES = Object.keys(FILE_TYPES) as readonly FileType[];

/** Other words for the usual choice of that kind. */
export const FILE_TYPE_ALIASES: Readonly<Record<string, FileType>> = {
  "2": "Q2_K",
  "3": "Q3_K_M",
  "4": "Q4_K_M",
  "5": "Q5_K_M",
  "6": "Q6_K",
  "8": "Q8_0",
  Q3_K: "Q3_K_M",
  Q4_K: "Q4_K_M",
  Q5_K: "Q5_K_M",
};

/** Types that cannot be made well, or at all, without importance statistics. */
const NEED_IMPORTANCE = new Set<FileType>([
  "IQ1_S",
  "IQ1_M",
  "IQ2_XXS",
  "IQ2_XS",
  "IQ2_S",
  "IQ2_M",
  "Q2_K_S",
  "IQ3_XXS",
]);

/** The type that a word means, in whatever case, or bits; undefined for no type. */
export function fileTypeOf(word: string): FileType | undefined {
  const name = word.trim().toUpperCase();
  return FILE_TYPE_ALIASES[name] ?? FILE_TYPE_NAMES.find((known) => known === name);
}

/** The type of llama.cpp's number; undefined for one that is made no more. */
export function fileTypeOfNumber(number: number): FileType | undefined {
  return FILE_TYPE_NAMES.find((name) => FILE_TYPES[name] === number);
}

/** llama.cpp's number of a type. */
export function fileTypeNumber(type: FileType): number {
  return FILE_TYPES[type];
}

export function needsImportance(type: FileType): boolean {
  return NEED_IMPORTANCE.has(type);
}
