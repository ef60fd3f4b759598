// Text normalization before synthesis, by what the voice can read.

import { ServiceError } from "../../core/error.ts";
import { isAudibleEnglish, readableEnglish } from "./english.ts";

/** How a voice reads texts. */
export interface Reading {
  /**
   * The text as the voice can read it: other characters are dropped or spelled out. Throws ServiceError, naming `input`,
   * when nothing is left.
   */
  readable(text: string): string;
  /** Whether a part of a readable text makes sound. */
  isAudible(part: string): boolean;
}

/** For voices that know English and ASCII. */
export const ENGLISH: Reading = { readable: readableEnglish, isAudible: isAudibleEnglish };

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

/** For voices with a text frontend of their own: the text as it is, without control characters. */
export const VERBATIM: Reading = {
  readable(text) {
    if (LETTER_OR_DIGIT.test(text))
      return text.replace(/\p{Cc}/gu, (control) => (control === "\n" ? "\n" : " "));
    throw new ServiceError(
      "unsupported_value",
      "input has no letter or digit that could be spoken; send words",
      {
        param: "input",
      },
    );
  },
  isAudible: (part) => LETTER_OR_DIGIT.test(part),
};
