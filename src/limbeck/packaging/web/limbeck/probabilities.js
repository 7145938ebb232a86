// From logits to probabilities, and to labels.

const THRESHOLD = 0.5;

/** Probabilities of one row: they sum to one or, with several labels per row, are independent. */
export function probabilitiesOf(logits, isMultiLabel) {
  if (isMultiLabel)
    return Float32Array.from(logits, (logit) =>
      Math.exp(-Math.max(0, -logit) - Math.log1p(Math.exp(-Math.abs(logit)))),
    );
  const largest = Math.max(...logits);
  const powers = Array.from(logits, (logit) => Math.exp(logit - largest));
  const total = powers.reduce((sum, power) => sum + power, 0);
  return Float32Array.from(powers, (power) => power / total);
}

/** The place of the first of the largest numbers. */
export function argmax(numbers) {
  let best = 0;
  for (let at = 1; at < numbers.length; at++) if (numbers[at] > numbers[best]) best = at;
  return best;
}

/** All labels that reach the threshold, in the order of the classes; possibly none. */
export function labelSet(probabilities, labels) {
  return labels.filter((_, at) => probabilities[at] >= THRESHOLD);
}
