// The "model" of a tokenizer.json: from a part of a text to ids.

import { LimbeckError } from "./characters.js";

const UNKNOWN_PENALTY = 10;

/** {idsOf: (text) → ids, idOf: Map from token to id}. Raises LimbeckError for a kind that is not known here. */
export function vocabulary(state) {
  switch (state.type) {
    case "WordLevel":
      return wordLevel(state);
    case "WordPiece":
      return wordPiece(state);
    case "Unigram":
      return unigram(state);
    case "BPE":
      return bytePairs(state);
    default:
      throw new LimbeckError(`the tokenizer has a vocabulary of a kind that is not known here: ${state.type}`);
  }
}

function wordLevel({ vocab, unk_token }) {
  const idOf = new Map(Object.entries(vocab));
  const unknown = idOf.get(unk_token);
  return { idOf, idsOf: (word) => known([idOf.get(word) ?? unknown]) };
}

function known(ids) {
  return ids.filter((id) => id !== undefined);
}

/** The longest token first; a word with a part that is no token is unknown as a whole. */
function wordPiece({ vocab, unk_token, continuing_subword_prefix: prefix, max_input_chars_per_word: most }) {
  const idOf = new Map(Object.entries(vocab));
  const unknown = known([idOf.get(unk_token)]);
  const longest = Math.max(0, ...[...new Set(Array.from(idOf.keys(), (token) => token.length))]);

  function idsOf(word) {
    const letters = Array.from(word);
    if (letters.length > most) return unknown;
    const ids = [];
    for (let start = 0; start < letters.length;) {
      let end = Math.min(letters.length, start + longest);
      let id;
      for (; end > start; end--) {
        id = idOf.get((start > 0 ? prefix : "") + letters.slice(start, end).join(""));
        if (id !== undefined) break;
      }
      if (id === undefined) return unknown;
      ids.push(id);
      start = end;
    }
    return ids;
  }
  return { idOf, idsOf };
}

/** The cut with the highest sum of scores; of equal ones that which the library finds. */
function unigram({ vocab, unk_id, byte_fallback }) {
  const idOf = new Map(vocab.map(([token], id) => [token, id]));
  const scores = vocab.map(([, score]) => score);
  let lowest = Infinity;
  for (const score of scores) lowest = Math.min(lowest, score);
  const ofUnknown = lowest - UNKNOWN_PENALTY;
  let longest = 0;
  for (const token of idOf.keys()) longest = Math.max(longest, Array.from(token).length);

  function bestCut(letters) {
    const best = [{ score: 0, start: -1, id: -1 }]; // of the cuts that end before each letter
    const offer = (end, score, start, id) => {
      if (best[end] === undefined || score > best[end].score) best[end] = { score, start, id };
    };
    for (let start = 0; start < letters.length; start++) {
      const before = best[start].score;
      let isToken = false;
      let token = "";
      for (let end = start + 1; end <= Math.min(letters.length, start + longest); end++) {
        token += letters[end - 1];
        const id = idOf.get(token);
        if (id === undefined) continue;
        offer(end, scores[id] + before, start, id);
        isToken ||= end === start + 1;
      }
      if (!isToken) offer(start + 1, ofUnknown + before, start, unk_id);
    }
    return best;
  }

  function idsOf(text) {
    const letters = Array.from(text);
    if (letters.length === 0) return [];
    const best = bestCut(letters);
    const tokens = []; // from the end; several unknown letters in a row are one token
    let unknown = "";
    const flush = () => {
      if (unknown) tokens.push(unknown);
      unknown = "";
    };
    for (let end = letters.length; end > 0; end = best[end].start) {
      const token = letters.slice(best[end].start, end).join("");
      if (best[end].id === unk_id) {
        unknown = token + unknown;
      } else {
        flush();
        tokens.push(token);
      }
    }
    flush();
    return tokens.reverse().flatMap((token) => idsOfToken(token));
  }

  function idsOfToken(token) {
    const id = idOf.get(token);
    if (id !== undefined) return [id];
    const bytes = byte_fallback ? byteIds(idOf, token) : undefined;
    return bytes ?? known([unk_id ?? undefined]);
  }
  return { idOf, idsOf };
}

function byteIds(idOf, text) {
  const names = Array.from(
    new TextEncoder().encode(text),
    (byte) => `<0x${byte.toString(16).toUpperCase().padStart(2, "0")}>`,
  );
  const ids = names.map((name) => idOf.get(name));
  return ids.includes(undefined) ? undefined : ids;
}

/** Pairs of symbols are merged in the order in which they were learned. */
function bytePairs(state) {
  const idOf = new Map(Object.entries(state.vocab));
  const prefix = state.continuing_subword_prefix ?? "";
  const merges = new Map(); // "left id right id" → [rank, id of both]
  state.merges.forEach((pair, rank) => {
    const [left, right] = typeof pair === "string" ? pair.split(" ") : pair;
    merges.set(`${idOf.get(left)} ${idOf.get(right)}`, [rank, idOf.get(left + right.slice(prefix.length))]);
  });

  function idsOf(word) {
    if (state.ignore_merges && idOf.has(word)) return [idOf.get(word)];
    const ids = symbols(state, idOf, word);
    for (;;) {
      let first = -1;
      let lowest = [Infinity];
      for (let at = 0; at + 1 < ids.length; at++) {
        const merge = merges.get(`${ids[at]} ${ids[at + 1]}`);
        if (merge && merge[0] < lowest[0]) [first, lowest] = [at, merge];
      }
      if (first < 0) return ids;
      ids.splice(first, 2, lowest[1]);
    }
  }
  return { idOf, idsOf };
}

function symbols({ continuing_subword_prefix, end_of_word_suffix, unk_token, fuse_unk, byte_fallback }, idOf, word) {
  const letters = Array.from(word);
  const ids = [];
  let wasUnknown = false;
  letters.forEach((letter, at) => {
    const before = at > 0 ? (continuing_subword_prefix ?? "") : "";
    const after = at === letters.length - 1 ? (end_of_word_suffix ?? "") : "";
    const symbol = before + letter + after;
    const bytes = idOf.has(symbol) || !byte_fallback ? undefined : byteIds(idOf, symbol);
    const found = bytes ?? (idOf.has(symbol) ? [idOf.get(symbol)] : undefined);
    if (found) ids.push(...found);
    else if (unk_token !== null && !(fuse_unk && wasUnknown)) ids.push(...known([idOf.get(unk_token)]));
    wasUnknown = found === undefined;
  });
  return ids;
}
