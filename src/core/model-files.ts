// Which files of a folder or of a hub repository make up the model that is meant. Works on names alone and touches
// neither disk nor network.

/** What was said about the file. At most one of the two. */
export interface Wanted {
  /** Path within the folder, or its last part. */
  readonly file?: string;
  /** `4`, `5`, `6`, `8` (bits), or the name of a type: `Q4_K_M`. */
  readonly quant?: string;
}

/** The parts in order (one, unless the file is split), or what is wrong (a problem's `what`) and its fix. */
export type ModelFiles =
  | { readonly ok: true; readonly parts: readonly string[] }
  | { readonly ok: false; readonly what: string; readonly fix: string };

/** A file, or all parts of a split one. */
interface Model {
  /** The file, or the first part that is there. */
  readonly name: string;
  readonly parts: readonly string[];
  /** Parts that the names speak of; 1 where the file is not split. */
  readonly total: number;
  readonly quant: string | undefined;
}

const SPLIT = /-(\d{5})-of-(\d{5})(?=\.gguf$)/i;
const QUANT =
  /(?<=^|[-._])(?:I?Q[1-8](?:_[A-Z0-9]+)*|TQ[12]_0|MXFP4(?:_MOE)?|NVFP4|BF16|F16|F32)(?=[-.]|$)/gi;
/** The types of a number of bits, the best compromise first. */
const OF_BITS = ["K_M", "K", "K_S", "K_L", "0", "1"];

/**
 * Chooses among paths (other files may be among them). Where nothing was said there must be exactly one model, or one of
 * the quantization `usual`.
 */
export function chooseModelFiles(paths: readonly string[], wanted: Wanted, usual?: string): ModelFiles {
  const models = groupParts(paths);
  if (models.length === 0) return no("there is no GGUF file in it", "Only GGUF models can be served.");
  const found = select(models, wanted, usual);
  const [model, ...others] = found;
  if (model === undefined) return no(missing(wanted), `There are: ${describe(models)}.`);
  if (others.length > 0) {
    return no(`it holds ${found.length} models that fit`, `Name one with quantized_file: ${namesOf(found)}.`);
  }
  const { parts, total } = model;
  if (parts.length === total) return { ok: true, parts };
  return no(
    `${parts.length} of the ${total} parts of ${model.name} are there`,
    "Put all parts into one folder.",
  );
}

/** The quantization that a file's name tells, in capitals. */
export function quantOf(path: string): string | undefined {
  const name = baseName(path)
    .replace(SPLIT, "")
    .replace(/\.gguf$/i, "");
  return name.match(QUANT)?.at(-1)?.toUpperCase();
}

/** Path of part `number` (from 1) of a split file, given any of its parts; the path itself where it is not split. */
export function partPath(path: string, number: number): string {
  return path.replace(SPLIT, (_, _part, total: string) => `-${String(number).padStart(5, "0")}-of-${total}`);
}

/** Parts of the split file that this one belongs to; 1 where it is not split. */
export function partCount(path: string): number {
  return Number(SPLIT.exec(path)?.[2] ?? 1);
}

/** Models of the list: what belongs together as one, projectors and importance matrices left out. */
function groupParts(paths: readonly string[]): readonly Model[] {
  const groups = new Map<string, string[]>();
  for (const path of [...paths].sort()) {
    if (!/\.gguf$/i.test(path) || /^(mmproj|imatrix)/i.test(baseName(path))) continue;
    const whole = partPath(path, 0);
    groups.set(whole, [...(groups.get(whole) ?? []), path]);
  }
  return [...groups.values()].map((parts) => {
    const name = parts[0] ?? "";
    return { name, parts, total: partCount(name), quant: quantOf(name) };
  });
}

function select(models: readonly Model[], wanted: Wanted, usual: string | undefined): readonly Model[] {
  const { file, quant } = wanted;
  if (file !== undefined) {
    const exact = models.filter(({ parts }) => parts.includes(file));
    return exact.length > 0
      ? exact
      : models.filter(({ parts }) => parts.some((path) => baseName(path) === file));
  }
  if (quant !== undefined) return ofQuant(models, quant);
  if (models.length === 1 || usual === undefined) return models;
  const common = models.filter((model) => model.quant === usual);
  return common.length > 0 ? common : models;
}

function ofQuant(models: readonly Model[], quant: string): readonly Model[] {
  const names = /^\d$/.test(quant) ? OF_BITS.map((ending) => `Q${quant}_${ending}`) : [quant.toUpperCase()];
  const name = names.find((candidate) => models.some((model) => model.quant === candidate));
  return models.filter((model) => name !== undefined && model.quant === name);
}

function missing({ file, quant }: Wanted): string {
  if (file !== undefined) return `there is no file ${file} in it`;
  return `no file in it has the quantization ${quant}`;
}

function describe(models: readonly Model[]): string {
  const quants = models.flatMap(({ quant }) => quant ?? []);
  return quants.length === models.length ? [...new Set(quants)].join(", ") : namesOf(models);
}

function namesOf(models: readonly Model[]): string {
  return models.map(({ name }) => name).join(", ");
}

function baseName(path: string): string {
  return path.slice(path.lastIndexOf("/") + 1);
}

function no(what: string, fix: string): ModelFiles {
  return { ok: false, what, fix };
}
