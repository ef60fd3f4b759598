// Names of voices that `model_id` takes as they are, besides files and folders.

/** The voices inside the executable. */
export const BUILTIN_VOICES = ["flite:slt", "flite:kal16"] as const;

/** The neural voice that is pulled by name; alone or with one of its voices behind a colon. */
export const NEURAL_VOICE = "hibari";
const NEURAL_VOICE_NAMES = ["heart", "emma", "fenrir", "fable", "kore"] as const;

/** Whether a `model_id` is that of a voice inside the executable. */
export function isBuiltinVoice(id: string): boolean {
  return BUILTIN_VOICES.some((voice) => voice === id);
}

/** Which voice a `model_id` names of the one that is pulled; undefined for another id. */
export function neuralVoiceNamed(id: string): string | undefined {
  if (id === NEURAL_VOICE) return NEURAL_VOICE_NAMES[0];
  return NEURAL_VOICE_NAMES.find((name) => id === `${NEURAL_VOICE}:${name}`);
}

/** Whether a `model_id` is a voice's name rather than a file, a folder or a repository. */
export function isVoiceName(id: string): boolean {
  return isBuiltinVoice(id) || neuralVoiceNamed(id) !== undefined;
}
