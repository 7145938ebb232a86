// Reads jobs from standard input and writes the columns of their rows: [{module, json, facts, rows}] → [[columns]].

import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const { module, jobs } = JSON.parse(readFileSync(0, "utf8"));
const { openTokenizer } = await import(pathToFileURL(module));
const found = jobs.map(({ json, facts, rows }) => {
  const { columnsOf } = openTokenizer(json, facts);
  return rows.map((row) => columnsOf(Array.isArray(row) ? row : [row]));
});
process.stdout.write(JSON.stringify(found));
