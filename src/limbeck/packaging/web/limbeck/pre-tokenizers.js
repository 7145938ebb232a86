// The "pre_tokenizer" of a tokenizer.json as a function from the parts of a text to smaller parts.
// A part is {text, isStart}: whether it is the start of the whole text decides about a space before it.

import { LimbeckError, isPunctuation } from "./characters.js";
import { expression } from "./expressions.js";

const WORDS =
  /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]+|[^\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}\p{White_Space}]+/gu;
const BYTE_WORDS =
  /'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\p{White_Space}\p{L}\p{N}]+|\p{White_Space}+(?!\P{White_Space})|\p{White_Space}+/gu;

const KINDS = {
  BertPreTokenizer: () =>
    inTurn(
      (text) => cut(text, spans(text, /\p{White_Space}/gu), "Removed"),
      (text) => cut(text, marks(text), "Isolated"),
    ),
  Whitespace: () => each((text) => cut(text, spans(text, WORDS), "Removed", true)),
  WhitespaceSplit: () => each((text) => cut(text, spans(text, /\p{White_Space}/gu), "Removed")),
  Punctuation: ({ behavior }) => each((text) => cut(text, marks(text), behavior ?? "Isolated")),
  Digits: ({ individual_digits }) =>
    each((text) => cut(text, spans(text, /\p{N}/gu), individual_digits ? "Isolated" : "Contiguous")),
  Split: splitting,
  ByteLevel: byteLevel,
  Metaspace: metaspace,
  Sequence: ({ pretokenizers }) => {
    const steps = pretokenizers.map(preTokenizer);
    return (parts) => steps.reduce((done, step) => step(done), parts);
  },
};

/** Raises LimbeckError for a kind that is not known here. */
export function preTokenizer(state) {
  if (state === null || state === undefined) return (parts) => parts;
  if (!Object.hasOwn(KINDS, state.type)) {
    throw new LimbeckError(`the tokenizer cuts texts in a way that is not known here: ${state.type}`);
  }
  return KINDS[state.type](state);
}

/** A step that cuts every part by itself. */
function each(cutting) {
  return (parts) =>
    parts.flatMap((part) => {
      const found = cutting(part.text);
      return found.map(([start, text]) => ({ text, isStart: part.isStart && start === 0 }));
    });
}

function inTurn(...cuttings) {
  const steps = cuttings.map(each);
  return (parts) => steps.reduce((done, step) => step(done), parts);
}

function splitting({ pattern, behavior, invert }) {
  const found = pattern.String === undefined ? expression(pattern.Regex) : literal(pattern.String);
  return each((text) => cut(text, spans(text, found), behavior, invert));
}

function literal(text) {
  return new RegExp(text.replace(/[\\^$.*+?()[\]{}|\/-]/g, "\\$&"), "g");
}

/** Where an expression matches. */
function spans(text, found) {
  return Array.from(text.matchAll(found), (match) => [match.index, match.index + match[0].length]).filter(
    ([start, end]) => start < end,
  );
}

function marks(text) {
  const found = [];
  let at = 0;
  for (const character of text) {
    if (isPunctuation(character)) found.push([at, at + character.length]);
    at += character.length;
  }
  return found;
}

/** [start, text] of the parts, without empty ones; `isInverted`: what lies between the matches counts as matches. */
function cut(text, matches, behavior, isInverted = false) {
  const pieces = [];
  let at = 0;
  for (const [start, end] of matches) {
    if (start > at) pieces.push([at, start, isInverted]);
    pieces.push([start, end, !isInverted]);
    at = end;
  }
  if (at < text.length) pieces.push([at, text.length, isInverted]);
  return joined(pieces, behavior).map(([start, end]) => [start, text.slice(start, end)]);
}

function joined(pieces, behavior) {
  switch (behavior) {
    case "Removed":
      return pieces.filter(([, , isMatch]) => !isMatch);
    case "Isolated":
      return pieces;
    case "Contiguous":
      return merged(pieces, (last, piece) => last[2] === piece[2]);
    case "MergedWithPrevious":
      return merged(pieces, (last, piece) => piece[2] && !last[2]);
    case "MergedWithNext":
      return merged(pieces.toReversed?.() ?? [...pieces].reverse(), (last, piece) => piece[2] && !last[2]).reverse();
    default:
      throw new LimbeckError(`the tokenizer cuts texts in a way that is not known here: ${behavior}`);
  }
}

/** Each piece becomes part of the one before it, in the order given, where `joins` says so. */
function merged(pieces, joins) {
  const found = [];
  let last = null;
  for (const piece of pieces) {
    if (last && joins(last, piece)) {
      const whole = found.at(-1);
      whole[0] = Math.min(whole[0], piece[0]);
      whole[1] = Math.max(whole[1], piece[1]);
    } else {
      found.push([...piece]);
    }
    last = piece;
  }
  return found;
}

const BYTE_LETTERS = byteLetters();

/** The letter that byte-level BPE writes for each byte: itself if it can be seen, or one from U+0100 on. */
function byteLetters() {
  const letters = [];
  let others = 0;
  for (let byte = 0; byte < 256; byte++) {
    const isSeen = (byte >= 33 && byte <= 126) || (byte >= 161 && byte <= 172) || byte >= 174;
    letters.push(String.fromCodePoint(isSeen ? byte : 256 + others++));
  }
  return letters;
}

function byteLevel({ add_prefix_space, use_regex }) {
  const encoder = new TextEncoder();
  return (parts) =>
    parts.flatMap(({ text, isStart }) => {
      if (add_prefix_space && !text.startsWith(" ")) text = ` ${text}`;
      const words = (use_regex ?? true) ? cut(text, spans(text, BYTE_WORDS), "Isolated") : [[0, text]];
      return words.map(([start, word]) => ({
        text: Array.from(encoder.encode(word), (byte) => BYTE_LETTERS[byte]).join(""),
        isStart: isStart && start === 0,
      }));
    });
}

function metaspace({ replacement, prepend_scheme, split }) {
  return (parts) =>
    parts.flatMap(({ text, isStart }) => {
      text = text.replaceAll(" ", replacement);
      const prepends = prepend_scheme === "always" || (prepend_scheme === "first" && isStart);
      if (prepends && !text.startsWith(replacement)) text = replacement + text;
      const words = (split ?? true) ? cut(text, spans(text, literal(replacement)), "MergedWithNext") : [[0, text]];
      return words.map(([start, word]) => ({ text: word, isStart: isStart && start === 0 }));
    });
}
