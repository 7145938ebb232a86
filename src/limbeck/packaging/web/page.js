// The page of a package: a text, the model's answer, and how long it took.

import { checkVectors, isConforming } from "./limbeck/conformance.js";
import { load } from "./limbeck/index.js";

const MOST_BARS = 10;
const byId = (id) => document.getElementById(id);

async function start() {
  const began = performance.now();
  const [model, about] = await Promise.all([load(), fetch("about.json").then((answer) => answer.json())]);
  const [first] = about.examples;
  await model.predict([first ?? (model.facts.pair ? ["", ""] : "")]); // the first answer takes longer than others
  const seconds = (performance.now() - began) / 1000;
  document.title = about.name;
  byId("name").textContent = about.name;
  byId("facts").textContent =
    `${model.labels.length} labels · model ${about.model_mb} MB, runtime ${about.runtime_mb} MB · ` +
    `ready after ${seconds.toFixed(1)} s · nothing that is written here leaves this page`;
  for (const id of ["pair", "pair-label"]) byId(id).hidden = !model.facts.pair;
  for (const example of about.examples) byId("examples").append(exampleButton(model, example));
  byId("ask").disabled = byId("check").disabled = false;
  byId("ask").addEventListener("click", () => shown(() => answer(model)));
  byId("text").addEventListener("keydown", (event) => {
    if (event.key === "Enter" && (event.ctrlKey || event.metaKey)) shown(() => answer(model));
  });
  byId("check").addEventListener("click", () => shown(() => compare(model)));
}

function exampleButton(model, example) {
  const button = document.createElement("button");
  button.type = "button";
  button.textContent = [example].flat().join(" | ");
  button.addEventListener("click", () => {
    [byId("text").value, byId("pair").value] = [...[example].flat(), ""];
    shown(() => answer(model));
  });
  return button;
}

async function answer(model) {
  const row = model.facts.pair ? [byId("text").value, byId("pair").value] : byId("text").value;
  const began = performance.now();
  const [probabilities] = await model.predictProba([row]);
  const took = performance.now() - began;
  const [label] = await model.predict([row]);
  byId("verdict").textContent = Array.isArray(label) ? label.join(", ") || "none of the labels" : label;
  const ranked = model.labels.map((name, at) => [name, probabilities[at]]).sort((one, other) => other[1] - one[1]);
  byId("bars").replaceChildren(...ranked.slice(0, MOST_BARS).map(bar));
  byId("took").textContent = `${took.toFixed(took < 10 ? 2 : 0)} ms in this browser`;
}

function bar([name, probability]) {
  const item = document.createElement("li");
  const number = document.createElement("span");
  const line = document.createElement("progress");
  number.textContent = `${(100 * probability).toFixed(1)} %`;
  Object.assign(line, { max: 1, value: probability });
  item.append(name, number, line);
  return item;
}

async function compare(model) {
  byId("check").disabled = true;
  const vectors = await fetch("vectors.json").then((answer) => answer.json());
  const progress = (done) => (byId("checked").textContent = `${done} of ${vectors.rows.length}…`);
  const found = await checkVectors(model, vectors, progress);
  const verdict = isConforming(found, vectors) ? "the same answers" : "other answers";
  byId("checked").textContent =
    `${verdict}: ${found.rows} rows, ${found.otherTokens} with other tokens, ${found.otherLabels} with another label, ` +
    `logits differ by at most ${found.largestDifference.toPrecision(2)}; ${found.msPerRow.toFixed(2)} ms per row`;
  byId("checked").dataset.found = JSON.stringify(found);
  byId("check").disabled = false;
}

/** Runs a step; what goes wrong is shown. */
async function shown(step) {
  try {
    byId("problem").hidden = true;
    await step();
  } catch (error) {
    byId("problem").textContent = `This does not work here: ${error.message}`;
    byId("problem").hidden = false;
  }
}

shown(start);
