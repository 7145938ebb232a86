// A model of Limbeck in a browser or in Node: texts in, labels and probabilities out.

import { LimbeckError } from "./characters.js";
import { argmax, labelSet, probabilitiesOf } from "./probabilities.js";
import { readBytes, readText, runtimeOf } from "./places.js";
import { openTokenizer } from "./tokenizer.js";

export { LimbeckError };

const MODEL = new URL("../model/", import.meta.url);
const BATCH_TOKENS = 1_024;

/**
 * The model in a folder; without `place`, the one beside this module. `runtime` is a module with onnxruntime's
 * interface, such as onnxruntime-node; by default the WebAssembly that is beside this module.
 */
export async function load(place = MODEL, { runtime } = {}) {
  const folder = new URL(
    String(place).replace(/\/?$/, "/"),
    globalThis.location?.href ?? `file://${encodeURI(process.cwd())}/`,
  );
  const facts = JSON.parse(await readText(new URL("model.json", folder)));
  const ort = runtime ?? (await runtimeOf());
  if (!facts.members?.length) return new Classifier(facts, [await open(folder, facts, ort)], [1]);
  const networks = [];
  const factors = [];
  for (const member of facts.members) {
    const inside = new URL(`${encodeURIComponent(member.folder)}/`, folder);
    const its = JSON.parse(await readText(new URL("model.json", inside)));
    networks.push(await open(inside, its, ort));
    factors.push(member.weight / (its.temperature ?? 1));
  }
  return new Classifier(facts, networks, factors);
}

async function open(folder, facts, ort) {
  const tokenizer = openTokenizer(await readText(new URL("tokenizer.json", folder)), facts);
  const graph = await readBytes(new URL("model.onnx", folder));
  const session = await ort.InferenceSession.create(graph, {
    executionProviders: ["cpu"],
    intraOpNumThreads: 1,
    interOpNumThreads: 1,
  });
  return new Network(facts, tokenizer, session, ort);
}

/** A tokenizer and a graph. */
class Network {
  constructor(facts, tokenizer, session, ort) {
    Object.assign(this, { facts, tokenizer, session, ort });
  }

  /** (rows, classes) of columns: the lists of numbers of each row. */
  async logits(columns) {
    const classes = this.facts.labels.length;
    const found = new Array(columns.length);
    for (const batch of batches(columns)) {
      const { logits } = await this.session.run(this.#feed(batch.map((row) => columns[row])));
      batch.forEach((row, at) => (found[row] = logits.data.slice(at * classes, (at + 1) * classes)));
    }
    return found;
  }

  #feed(rows) {
    const [first, second] = rows[0].map((_, column) => rows.map((row) => row[column]));
    const feed = { input_ids: this.#padded(first, this.tokenizer.padId), lengths: this.#lengths(first) };
    if (second && this.facts.tokenizer === "framed") feed.type_ids = this.#padded(second, 0);
    else if (second)
      Object.assign(feed, {
        pair_ids: this.#padded(second, this.tokenizer.padId),
        pair_lengths: this.#lengths(second),
      });
    return Object.fromEntries(this.session.inputNames.map((name) => [name, feed[name]]));
  }

  #padded(rows, padding) {
    const width = Math.max(0, ...rows.map((row) => row.length));
    const ids = new BigInt64Array(rows.length * width).fill(BigInt(padding));
    rows.forEach((row, at) => row.forEach((id, place) => (ids[at * width + place] = BigInt(id))));
    return new this.ort.Tensor("int64", ids, [rows.length, width]);
  }

  #lengths(rows) {
    return new this.ort.Tensor(
      "int32",
      Int32Array.from(rows, (row) => row.length),
      [rows.length],
    );
  }
}

/** Rows of similar length, for as little padding as possible; the longest ones first. */
function batches(columns) {
  const sizes = columns.map((row) => row.map((ids) => ids.length));
  const total = (size) => size.reduce((sum, length) => sum + length, 0);
  const order = sizes.map((_, row) => row).sort((one, other) => total(sizes[other]) - total(sizes[one]) || other - one);
  const found = [];
  let widths = [];
  for (const row of order) {
    const wider = sizes[row].map((length, column) => Math.max(length, widths[column] ?? 0));
    if (widths.length && (found.at(-1).length + 1) * total(wider) <= BATCH_TOKENS) {
      found.at(-1).push(row);
      widths = wider;
    } else {
      found.push([row]);
      widths = sizes[row];
    }
  }
  return found;
}

/** Rows are texts, or pairs [text, other text] if `facts.pair` is set. */
class Classifier {
  #networks;
  #factors;

  constructor(facts, networks, factors) {
    this.facts = facts;
    this.#networks = networks;
    this.#factors = factors.map(Math.fround);
  }

  /** Class names, in the order of the numbers of `predictProba`. */
  get labels() {
    return [...this.facts.labels];
  }

  /** The most probable label of each row; of a model with several labels per row, the list of those that apply. */
  async predict(rows) {
    if (this.facts.multi_label) return (await this.predictProba(rows)).map((row) => labelSet(row, this.facts.labels));
    return (await this.logits(rows)).map((row) => this.facts.labels[argmax(row)]);
  }

  /** The probability of each class, for each row. */
  async predictProba(rows) {
    const temperature = Math.fround(this.facts.temperature ?? 1);
    const scaled = (await this.logits(rows)).map((row) => row.map((logit) => logit / temperature));
    return scaled.map((row) => probabilitiesOf(row, this.facts.multi_label ?? false));
  }

  /** The output of the network for each row, before temperature and softmax. */
  async logits(rows) {
    const columns = this.encode(rows);
    if (!columns.length) return [];
    if (this.#networks.length === 1) return this.#networks[0].logits(columns.map(([own]) => own));
    const each = [];
    for (const [at, network] of this.#networks.entries())
      each.push(await network.logits(columns.map((row) => row[at])));
    return columns.map((_, row) => this.#blended(each.map((logits) => logits[row])));
  }

  #blended(logits) {
    const total = logits[0].map((logit) => logit * this.#factors[0]);
    logits
      .slice(1)
      .forEach((row, at) =>
        row.forEach((logit, place) => (total[place] += Math.fround(logit * this.#factors[at + 1]))),
      );
    return total;
  }

  /** The tokens of each row: for each network of the model (a blend has several) its lists of numbers. */
  encode(rows) {
    if (!Array.isArray(rows)) throw new LimbeckError("rows are given as an array");
    const all = rows.map((row, at) => this.#texts(row, at));
    return all.map((texts) => this.#networks.map((network) => network.tokenizer.columnsOf(texts)));
  }

  #texts(row, at) {
    const texts = this.facts.pair ? row : [row];
    const isRight =
      Array.isArray(texts) &&
      texts.length === (this.facts.pair ? 2 : 1) &&
      texts.every((text) => typeof text === "string");
    if (!isRight)
      throw new LimbeckError(`row ${at} (counted from 0) is not ${this.facts.pair ? "a pair of texts" : "a text"}`);
    return texts;
  }
}
