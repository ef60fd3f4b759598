// Which files of a folder make up a voice of sherpa-onnx, by their names. Reads no disk.

/** Names within the folder. */
export interface VoiceFiles {
  readonly model: string;
  readonly tokens: string;
  readonly lexicon?: string;
  /** Folder of espeak-ng's data, which many voices need. */
  readonly dataDir?: string;
}

/** The files, or what is wrong with the folder. */
export function chooseVoiceFiles(names: readonly string[]): VoiceFiles | string {
  const models = names.filter((name) => name.endsWith(".onnx"));
  const [only] = models;
  const model = models.includes("model.onnx") ? "model.onnx" : only;
  if (model === undefined) return "it has no .onnx file";
  if (models.length > 1 && model !== "model.onnx") return `it has several .onnx files: ${models.join(", ")}`;
  if (!names.includes("tokens.txt")) return "it has no tokens.txt";
  if (names.includes("voices.bin")) return "it is not a VITS voice";
  return {
    model,
    tokens: "tokens.txt",
    ...(names.includes("lexicon.txt") ? { lexicon: "lexicon.txt" } : {}),
    ...(names.includes("espeak-ng-data") ? { dataDir: "espeak-ng-data" } : {}),
  };
}
