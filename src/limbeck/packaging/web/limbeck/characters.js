// White space, text that is safe to read, and what characters are: the same as in Python and in the tokenizers library.

export class LimbeckError extends Error {
  name = "LimbeckError";
}

const PYTHON_SPACE = "\\t-\\r\\x1c-\\x20\\x85\\xa0\\u1680\\u2000-\\u200a\\u2028\\u2029\\u202f\\u205f\\u3000";
const ENDS = new RegExp(`^[${PYTHON_SPACE}]+|[${PYTHON_SPACE}]+$`, "g");
const SPACES = new RegExp(`[${PYTHON_SPACE}]+`);

/** Without white space at its ends, as Python's str.strip: JavaScript's trim takes other characters. */
export function stripped(text) {
  return text.replace(ENDS, "");
}

/** The parts between white space, as Python's str.split. */
export function split(text) {
  return stripped(text)
    .split(SPACES)
    .filter((part) => part !== "");
}

/** The first characters of a text (code points, not units of UTF-16). */
export function firstCharacters(text, most) {
  if (text.length <= most) return text;
  let at = 0;
  for (let count = 0; count < most && at < text.length; count++) at += text.codePointAt(at) > 0xffff ? 2 : 1;
  return text.slice(0, at);
}

/** Its first characters; halves of surrogate pairs become U+FFFD. */
export function readable(text, most) {
  return wellFormed(firstCharacters(text, most));
}

export function wellFormed(text) {
  if (text.toWellFormed) return text.toWellFormed();
  return text.replace(/[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}

/** Lower case letter by letter: a sigma is the same at the end of a word. */
export function lowered(text) {
  return text.replaceAll("Σ", "σ").toLowerCase();
}

const ASCII_MARK = /^[!-\/:-@[-`{-~]$/;

/** What the library calls punctuation; the tables that it has are those of an older Unicode. */
export function isPunctuation(character) {
  return ASCII_MARK.test(character) || /^\p{P}$/u.test(character);
}
