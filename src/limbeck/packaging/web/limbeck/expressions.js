// The regular expressions of Limbeck's tokenizers, in JavaScript; others are refused, for they may mean something else.

import { LimbeckError } from "./characters.js";

// Letters and digits of words; (?i:…) is spelled out, with the long s that the library takes for an s.
const FIRST = "(?!\\p{Script=Han})[\\p{L}\\p{N}]";
const INSIDE = "(?!\\p{Script=Han})[\\p{L}\\p{M}\\p{N}]";
const NUMBER = "\\p{Nd}{1,20}(?:[.,]\\p{Nd}{1,20}){1,9}";
const MARK = "[^\\p{White_Space}\\p{Cc}\\p{Cf}\\ufe0f]";
const NOT = `[nN]'[tT](?!${INSIDE})`;
const CLITIC =
  `'(?:[sSſ]|[mM]|[dD]|[lL]{2}|[rR][eE]|[vV][eE])(?!${INSIDE})` + `|[cC][aA][nN](?=[nN][oO][tT](?!${INSIDE}))`;
const ENGLISH = `${NOT}|${CLITIC}|\\p{Script=Han}|${NUMBER}|${FIRST}(?:(?!${NOT})${INSIDE}){0,99}|${MARK}`;
const ELIDED = `(?:${FIRST}){1,12}'(?=${FIRST})|${ENGLISH}`;
const SPACED = `${NUMBER}|[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}]{0,999}|${MARK}`;
const JAPANESE =
  `\\p{Script=Han}{1,999}|[ぁ-ゟ]{1,999}|[ァ-ヿㇰ-ㇿ]{1,999}|${NUMBER}|${FIRST}(?:${INSIDE}){0,99}|${MARK}`;
const CHINESE = `\\p{Script=Han}{1,999}|${NUMBER}|${FIRST}(?:${INSIDE}){0,99}|${MARK}`;

const BEGINNINGS = [
  // how an expression of tokenizer.json begins → what it is here
  ["(?i:n't)(?!", () => new RegExp(ENGLISH, "gu")],
  ["[\\p{L}\\p{N}&&[^\\p{Han}]]{1,12}'(?=", () => new RegExp(ELIDED, "gu")],
  ["\\p{Nd}{1,20}(?:[.,]\\p{Nd}{1,20}){1,9}|[\\p{L}\\p{N}][\\p{L}\\p{M}\\p{N}]{0,999}|", () => new RegExp(SPACED, "gu")],
  ["\\p{Han}{1,999}|[ぁ-ゟ]", () => new RegExp(JAPANESE, "gu")],
  ["\\p{Han}{1,999}|\\p{Nd}", () => new RegExp(CHINESE, "gu")],
];
const WHOLE = {
  "[‘’ʼ`´]": () => /[‘’ʼ`´]/gu,
  "''|[“”]": () => /''|[“”]/gu,
  " {2,}": () => / {2,}/gu,
  // What languages do not tell apart: spaces in numbers, vowel signs, stress, joiners, forms of a letter.
  "(?<=\\p{Nd})[\\u00A0\\u2009\\u202F](?=\\p{Nd}{3}(?!\\p{Nd}))": () =>
    /(?<=\p{Nd})[\u00A0\u2009\u202F](?=\p{Nd}{3}(?!\p{Nd}))/gu,
  "[\\u0640\\u064B-\\u0652\\u0670]": () => /[\u0640\u064B-\u0652\u0670]/gu,
  "\\u0301": () => /\u0301/gu,
  "[\\u200C\\u200D]": () => /[\u200C\u200D]/gu,
  "[أإآٱ]": () => /[أإآٱ]/gu,
};
const PLACE = "(?<=[^ \\t\\n\\x0b\\x0c\\r\\x1c-\\x1f"; // how the one expression begins that spaces punctuation

/** The expression with this source in a tokenizer.json. Raises LimbeckError if it is not known. */
export function expression(source) {
  if (Object.hasOwn(WHOLE, source)) return WHOLE[source]();
  const known = BEGINNINGS.find(([start]) => source.startsWith(start));
  if (known) return known[1]();
  // It is made of ASCII lookarounds, which mean the same in JavaScript without the flag u.
  if (source.startsWith(PLACE)) return new RegExp(source, "g");
  throw new LimbeckError(`the tokenizer has an expression that is not known here: ${source.slice(0, 60)}`);
}
