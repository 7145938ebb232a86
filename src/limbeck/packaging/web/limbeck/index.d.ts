// Types of the module; see index.js.

/** A text; of a model of pairs, two. */
export type Row = string | [string, string];

export interface Facts {
  name: string;
  kind: string;
  labels: string[];
  language: string;
  pair: boolean;
  max_length: number;
  multi_label?: boolean;
  temperature?: number;
}

export interface Classifier {
  readonly facts: Facts;
  readonly labels: string[];
  /** A label for each row; for a model with several labels per row, a list of them. */
  predict(rows: Row[]): Promise<(string | string[])[]>;
  predictProba(rows: Row[]): Promise<Float32Array[]>;
  logits(rows: Row[]): Promise<Float32Array[]>;
  encode(rows: Row[]): number[][][][];
}

export class LimbeckError extends Error {}

/** The model in a folder, by default the one of this package; `runtime` has onnxruntime's interface. */
export function load(place?: string | URL, options?: { runtime?: unknown }): Promise<Classifier>;
