// What answers are like where a request does not say, by the settings of a model or an alias. Names are those of the settings.

/** Defaults of requests; a request's own fields win. */
export interface Preset {
  readonly temperature?: number;
  readonly top_p?: number;
  readonly top_k?: number;
  readonly min_p?: number;
  readonly presence_penalty?: number;
  readonly frequency_penalty?: number;
  readonly repetition_penalty?: number;
  readonly max_tokens?: number;
  readonly stop?: readonly string[];
  /** Instructions for conversations without any of their own. */
  readonly system?: string;
  /** Whether the model reasons first. */
  readonly thinking?: boolean;
}
