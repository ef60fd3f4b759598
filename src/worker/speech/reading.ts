// What a voice makes of a text before it speaks.

import { ServiceError } from "../../core/error.ts";
import { isAudibleEnglish, readableEnglish } from "./english.ts";

/** How a text is read. */
export interface Reading {
  /**
   * The text as the voice can read it: what it cannot is left out or put into words. Throws ServiceError, naming `input`,
   * when nothing is left.
   */
  readable(text: string): string;
  /** Whether a part of a readable text makes any sound. */
  isAudible(part: string): boolean;
}

/** For voices that know English and ASCII. */
export const ENGLISH: Reading = { readable: readableEnglish, isAudible: isAudibleEnglish };

const LETTER_OR_DIGIT = /[\p{L}\p{N}]/u;

/** For voices that bring their own language: they get the text as it is. */
export const VERBATIM: Reading = {
  readable(text) {
    if (LETTER_OR_DIGIT.test(text))
      return text.replace(/\p{Cc}/gu, (control) => (control === "\n" ? "\n" : " "));
    throw new ServiceError("unsupported_value", "input has nothing to say: no letter or digit. Send words.", {
      param: "input",
    });
  },
  isAudible: (part) => LETTER_OR_DIGIT.test(part),
};
