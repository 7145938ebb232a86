// A model against its conformance vectors: rows with the tokens and logits that Python gives for them.

import { argmax } from "./probabilities.js";

/**
 * Asks for one row at a time, as the vectors were made. Returns {rows, otherTokens, otherLabels, largestDifference,
 * firstOther, msPerRow}; `progress` is called with the number of rows that are done.
 */
export async function checkVectors(model, vectors, progress = () => {}) {
  const found = {
    rows: vectors.rows.length,
    otherTokens: 0,
    otherLabels: 0,
    largestDifference: 0,
    firstOther: null,
    msPerRow: 0,
  };
  let spent = 0;
  for (const [at, { row, tokens, logits }] of vectors.rows.entries()) {
    const started = performance.now();
    const [own] = await model.logits([row]);
    spent += performance.now() - started;
    if (JSON.stringify(model.encode([row])[0]) !== JSON.stringify(tokens)) {
      found.otherTokens += 1;
      found.firstOther ??= at;
      continue;
    }
    for (const [place, logit] of logits.entries())
      found.largestDifference = Math.max(found.largestDifference, Math.abs(own[place] - logit));
    if (decision(own, model.facts) !== decision(logits, model.facts)) found.otherLabels += 1;
    if (at % 50 === 49) progress(at + 1);
  }
  found.msPerRow = spent / Math.max(1, found.rows);
  return found;
}

/** What the row is labelled; with several labels per row, which of them apply. */
function decision(logits, facts) {
  return facts.multi_label ? Array.from(logits, (logit) => logit >= 0).join() : argmax(logits);
}

/** Whether a reader may be called the same: all tokens, nearly all labels, and logits within the tolerance. */
export function isConforming(found, { tolerance }) {
  return found.otherTokens === 0 && found.otherLabels <= 0.005 * found.rows && found.largestDifference <= tolerance;
}
