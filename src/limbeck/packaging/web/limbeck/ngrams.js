// A tokenizer.json of hashed n-grams: every word, run of words and part of a word is the number of a bucket.

import { LimbeckError, firstCharacters, lowered, split, wellFormed } from "./characters.js";
import { SPACED } from "./spacing.js";

const FIRST_BUCKET = 3;
const MULTIPLIER = 0x9e3779b1;
const LONGEST_WORD = 40;
const MOST_KNOWN = 1 << 15;
const LONGEST_KNOWN = 32;

const CHINESE_MARKS = new Map(Array.from("。，、！？；：（）～", (wide, at) => [wide, ".,,!?;:()~"[at]]));
const FORMS = {
  narrow: (text) =>
    text.replace(/[\uff01-\uff5e\u3000]/g, (wide) =>
      CHINESE_MARKS.has(wide) ? wide : wide === "\u3000" ? " " : String.fromCharCode(wide.charCodeAt(0) - 0xfee0),
    ),
  narrow_marks: (text) => text.replace(/[。，、！？；：（）～]/g, (wide) => CHINESE_MARKS.get(wide)),
  lowercase: lowered,
  spaced: (text) => text.replace(SPACED, " "),
};
const IN_ORDER = Object.keys(FORMS);

/** A function from text to ids. Raises LimbeckError for settings that are not known here. */
export function ngramReader({ buckets, words: mostRun, shortest, longest, form }, maxLength) {
  const unknown = form.find((step) => !IN_ORDER.includes(step));
  if (unknown) throw new LimbeckError(`the tokenizer changes texts in a way that is not known here: ${unknown}`);
  const steps = IN_ORDER.filter((step) => form.includes(step)).map((step) => FORMS[step]);
  const wordBuckets = Math.floor(buckets / 2);
  const firstPart = FIRST_BUCKET + wordBuckets;
  const partBuckets = buckets - wordBuckets;
  const mostCharacters = Math.max(10_000, maxLength * 100);
  const unitOf = (word, parts) => {
    const number = crc32(word);
    return {
      number,
      ids: [FIRST_BUCKET + (number % wordBuckets), ...parts.map((part) => firstPart + (crc32(part) % partBuckets))],
    };
  };
  let seen = new Map();

  function unitsOf(piece) {
    const known = seen.get(piece);
    if (known) return known;
    const units = runs(piece).flatMap(([kind, letters]) => {
      if (kind === "word") return [unitOf(letters.join(""), partsOfWord(letters, shortest, longest))];
      if (kind === "han") return letters.map((one, at) => unitOf(one, partsFrom(letters, at, shortest, longest)));
      return letters.map((one) => unitOf(one, []));
    });
    if (piece.length <= LONGEST_KNOWN) {
      if (seen.size >= MOST_KNOWN) seen = new Map();
      seen.set(piece, units);
    }
    return units;
  }

  return (text) => {
    const formed = steps.reduce((done, step) => step(done), firstCharacters(text, mostCharacters));
    const units = [];
    for (const piece of split(formed)) {
      units.push(...unitsOf(piece));
      if (units.length >= maxLength) break;
    }
    units.length = Math.min(units.length, maxLength);
    const ids = units.flatMap((unit) => unit.ids);
    let numbers = units.map((unit) => unit.number);
    for (let length = 2; length <= mostRun; length++) {
      const ends = units.slice(length - 1);
      numbers = ends.map((unit, at) => (Math.imul(numbers[at], MULTIPLIER) + unit.number) >>> 0);
      ids.push(...numbers.map((run) => FIRST_BUCKET + (run % wordBuckets)));
    }
    return [...new Set(ids)];
  };
}

/** [kind, letters] of the runs of letters and digits, of Han, and of marks. A masked word is none. */
function runs(piece) {
  const text = wellFormed(piece.replaceAll("[MASK]", " ")).normalize("NFKC").toLowerCase();
  const found = [];
  for (const letter of text) {
    const kind = kindOf(letter);
    if (found.length && found.at(-1)[0] === kind) found.at(-1)[1].push(letter);
    else found.push([kind, [letter]]);
  }
  return found.filter(([kind]) => kind !== "");
}

export function kindOf(letter) {
  if (/^[\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\u{20000}-\u{323af}]$/u.test(letter)) return "han";
  if (letter === "\ufe0f") return "";
  if (/^[\p{L}\p{M}\p{N}]$/u.test(letter)) return "word";
  return /^[\p{Z}\p{C}]$/u.test(letter) ? "" : "mark";
}

/** Parts of a word between its ends. All of it is no part: that is the word. */
function partsOfWord(letters, shortest, longest) {
  const framed = ["<", ...letters.slice(0, LONGEST_WORD), ">"];
  const parts = [];
  for (let length = shortest; length <= Math.min(longest, framed.length - 1); length++) {
    for (let start = 0; start + length <= framed.length; start++)
      parts.push(framed.slice(start, start + length).join(""));
  }
  return parts;
}

/** Parts of a run of Han that begin at this place. */
function partsFrom(letters, at, shortest, longest) {
  const parts = [];
  for (let length = shortest; length <= Math.min(longest, letters.length - at); length++) {
    parts.push(letters.slice(at, at + length).join(""));
  }
  return parts;
}

const CRC_TABLE = Uint32Array.from({ length: 256 }, (_, byte) => {
  let value = byte;
  for (let bit = 0; bit < 8; bit++) value = value & 1 ? (value >>> 1) ^ 0xedb88320 : value >>> 1;
  return value;
});
const ENCODER = new TextEncoder();

/** CRC-32 of a text's UTF-8. */
export function crc32(text) {
  let value = 0xffffffff;
  for (const byte of ENCODER.encode(text)) value = (value >>> 8) ^ CRC_TABLE[(value ^ byte) & 255];
  return ~value >>> 0;
}
