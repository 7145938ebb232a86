// A model's tokenizer.json: texts to ids, as Limbeck's tokenizers read them in Python.

import { LimbeckError, readable, stripped } from "./characters.js";
import { ngramReader } from "./ngrams.js";
import { normalizer } from "./normalizers.js";
import { preTokenizer } from "./pre-tokenizers.js";
import { vocabulary } from "./vocabularies.js";

export const PAD_ID = 0;
export const UNK_ID = 1;
const MASK = "[MASK]";
const LEAST_CHARACTERS = 10_000;
const CHARACTERS_PER_TOKEN = 100;

/**
 * How a model reads rows: {padId, columnsOf: (row) → lists of numbers}. A row is a text or two; the columns are the ids
 * of each text or, for a framed tokenizer, the ids of the row and for two texts the types of its tokens.
 *
 * Raises LimbeckError for a tokenizer that cannot be read here.
 */
export function openTokenizer(json, { tokenizer, max_length: maxLength }) {
  const state = JSON.parse(json);
  if (state.ngrams) {
    const read = ngramReader(state.ngrams, maxLength);
    return { padId: PAD_ID, columnsOf: (texts) => texts.map((text) => orUnknown(read(stripped(text)))) };
  }
  if (state.segmenter !== undefined) {
    throw new LimbeckError("the model's texts are cut by jieba, which is not part of this package");
  }
  const plain = plainReader(state, maxLength);
  if (tokenizer === "framed") return framed(state, plain, maxLength);
  const idsOf = (text) =>
    plain
      .read(stripped(text))
      .map((id) => (id === PAD_ID ? UNK_ID : id))
      .slice(0, maxLength);
  return { padId: PAD_ID, columnsOf: (texts) => texts.map((text) => orUnknown(idsOf(text))) };
}

function orUnknown(ids) {
  return ids.length ? ids : [UNK_ID];
}

/** {read: (text) → ids, without special tokens and not truncated; idOf: Map from token to id} */
function plainReader(state, maxLength) {
  const mostCharacters = Math.max(LEAST_CHARACTERS, maxLength * CHARACTERS_PER_TOKEN);
  const normalize = normalizer(state.normalizer);
  const pretokenize = preTokenizer(state.pre_tokenizer);
  const { idOf, idsOf } = vocabulary(state.model);
  const added = state.added_tokens ?? [];
  for (const { content, id } of added) idOf.set(content, id);
  const inText = finder(
    added.filter((token) => !token.normalized),
    (token) => token.content,
  );
  const inNormalized = finder(
    added.filter((token) => token.normalized),
    (token) => normalize(token.content),
  );

  function read(text) {
    const ids = [];
    for (const raw of inText(readable(text, mostCharacters))) {
      if (raw.id !== undefined) {
        ids.push(raw.id);
        continue;
      }
      for (const part of inNormalized(normalize(raw.text))) {
        if (part.id !== undefined) ids.push(part.id);
        else if (part.text !== "") {
          const isStart = raw.start === 0 && part.start === 0;
          for (const word of pretokenize([{ text: part.text, isStart }]))
            for (const id of idsOf(word.text)) ids.push(id);
        }
      }
    }
    return ids;
  }
  return { read, idOf };
}

/** A function that cuts a text at added tokens: the longest of the leftmost ones. */
function finder(tokens, contentOf) {
  const byContent = new Map(tokens.map((token) => [contentOf(token), token]).filter(([content]) => content !== ""));
  if (!byContent.size) return (text) => (text === "" ? [] : [{ text, start: 0 }]);
  const inOrder = [...byContent.keys()].sort((one, other) => other.length - one.length);
  const found = new RegExp(inOrder.map((content) => content.replace(/[\\^$.*+?()[\]{}|\/-]/g, "\\$&")).join("|"), "g");

  return (text) => {
    const parts = [];
    let done = 0;
    for (const match of text.matchAll(found)) {
      const token = byContent.get(match[0]);
      let [start, end] = [match.index, match.index + match[0].length];
      if (token.single_word && isInWord(text, start, end)) continue;
      if (token.lstrip) start = Math.max(done, start - text.slice(0, start).match(/\p{White_Space}*$/u)[0].length);
      if (token.rstrip) end += text.slice(end).match(/^\p{White_Space}*/u)[0].length;
      if (start > done) parts.push({ text: text.slice(done, start), start: done });
      parts.push({ id: token.id });
      done = end;
    }
    if (done < text.length) parts.push({ text: text.slice(done), start: done });
    return parts;
  };
}

function isInWord(text, start, end) {
  const letter = /[\p{Alphabetic}\p{M}\p{Nd}\p{Pc}\p{Join_Control}]/u;
  const before = Array.from(text.slice(Math.max(0, start - 2), start)).at(-1) ?? "";
  return letter.test(before) || letter.test(String.fromCodePoint(text.codePointAt(end) ?? 32));
}

function framed(state, plain, maxLength) {
  const padId = state.padding.pad_id;
  const unknown = unknownToken(state.model, plain.idOf);
  const one = frame(state.post_processor.single, state.post_processor.special_tokens);
  const two = frame(state.post_processor.pair, state.post_processor.special_tokens);
  const hasMask = plain.idOf.has(MASK) || unknown === undefined;
  const instead = unknown === undefined ? [] : [plain.idOf.get(unknown)];
  const idsOf = (text) => {
    const given = hasMask
      ? stripped(text)
      : readable(stripped(text), Math.max(LEAST_CHARACTERS, maxLength * CHARACTERS_PER_TOKEN)).replaceAll(
          MASK,
          unknown,
        );
    return plain.read(given).flatMap((id) => (id === padId ? instead : [id]));
  };

  function columnsOf(texts) {
    const ids = texts.map(idsOf);
    if (ids.length === 1) return [around(one, [ids[0].slice(0, Math.max(0, maxLength - one.size))]).ids];
    const [first, second] = keptLengths(ids[0].length, ids[1].length, Math.max(0, maxLength - two.size));
    const row = around(two, [ids[0].slice(0, first), ids[1].slice(0, second)]);
    return [row.ids, row.types];
  }
  return { padId, columnsOf };
}

function unknownToken(model, idOf) {
  if (model.unk_id !== null && model.unk_id !== undefined) return model.vocab[model.unk_id][0];
  return [model.unk_token, "<unk>", "[UNK]"].find((name) => name && idOf.has(name));
}

/** The special tokens before, between and after texts, and the types of all tokens. */
function frame(template, tokens) {
  const parts = template.map(({ SpecialToken: special, Sequence: text }) =>
    special ? { ids: tokens[special.id].ids, type: special.type_id } : { type: text.type_id },
  );
  const size = parts.reduce((sum, part) => sum + (part.ids?.length ?? 0), 0);
  return { parts, size };
}

function around({ parts }, texts) {
  const [ids, types, left] = [[], [], [...texts]];
  for (const part of parts) {
    const own = part.ids ?? left.shift();
    for (const id of own) {
      ids.push(id);
      types.push(part.type);
    }
  }
  return { ids, types };
}

/** The lengths of two texts that may have `most` tokens together: the longer one is truncated first. */
export function keptLengths(first, second, most) {
  if (first + second <= most) return [first, second];
  let shorter = Math.min(first, second);
  if (2 * shorter > most) shorter = Math.floor(most / 2);
  return first > second ? [most - shorter, shorter] : [shorter, most - shorter];
}
