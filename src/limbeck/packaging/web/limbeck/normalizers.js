// The "normalizer" of a tokenizer.json as a function from text to text.

import { LimbeckError, lowered } from "./characters.js";
import { expression } from "./expressions.js";
import { precompiled } from "./precompiled.js";

const HAN_OF_BERT =
  /[\u4e00-\u9fff\u3400-\u4dbf\u{20000}-\u{2a6df}\u{2a700}-\u{2b73f}\u{2b740}-\u{2b81f}\u{2b920}-\u{2ceaf}\uf900-\ufaff\u{2f800}-\u{2fa1f}]/gu;
const CONTROL_OF_BERT = /[\0\ufffd]|(?![\t\n\r])[\p{Cc}\p{Cf}\p{Co}]/gu;
const WHITE_SPACE = /\p{White_Space}/gu;

const KINDS = {
  NFC: () => (text) => text.normalize("NFC"),
  NFD: () => (text) => text.normalize("NFD"),
  NFKC: () => (text) => text.normalize("NFKC"),
  NFKD: () => (text) => text.normalize("NFKD"),
  Lowercase: () => lowered,
  StripAccents: () => (text) => text.replace(/\p{M}/gu, ""),
  Prepend:
    ({ prepend }) =>
    (text) =>
      text === "" ? text : prepend + text,
  Strip:
    ({ strip_left, strip_right }) =>
    (text) => {
      const left = strip_left ? text.replace(/^\p{White_Space}+/u, "") : text;
      return strip_right ? left.replace(/\p{White_Space}+$/u, "") : left;
    },
  Replace: replacing,
  BertNormalizer: likeBert,
  Precompiled: precompiled,
  Sequence: ({ normalizers }) => {
    const steps = normalizers.map(normalizer);
    return (text) => steps.reduce((done, step) => step(done), text);
  },
};

/** Raises LimbeckError for a kind that is not known here. */
export function normalizer(state) {
  if (state === null || state === undefined) return (text) => text;
  if (!Object.hasOwn(KINDS, state.type)) {
    throw new LimbeckError(`the tokenizer changes texts in a way that is not known here: ${state.type}`);
  }
  return KINDS[state.type](state);
}

function replacing({ pattern, content }) {
  if (pattern.String !== undefined) return (text) => text.replaceAll(pattern.String, () => content);
  const found = expression(pattern.Regex);
  return (text) => text.replace(found, () => content);
}

function likeBert({ clean_text, handle_chinese_chars, strip_accents, lowercase }) {
  const dropsAccents = strip_accents ?? lowercase;
  return (text) => {
    if (clean_text) text = text.replace(CONTROL_OF_BERT, "").replace(WHITE_SPACE, " ");
    if (handle_chinese_chars) text = text.replace(HAN_OF_BERT, " $& ");
    if (dropsAccents) text = text.normalize("NFD").replace(/\p{Mn}/gu, "");
    return lowercase ? lowered(text) : text;
  };
}
