// node check.mjs [--native]: this package against its conformance vectors; --native uses onnxruntime-node.

import { readFile } from "node:fs/promises";
import { load } from "./limbeck/index.js";
import { checkVectors, isConforming } from "./limbeck/conformance.js";

const runtime = process.argv.includes("--native") ? (await import("onnxruntime-node")).default : undefined;
const started = performance.now();
const model = await load(undefined, { runtime });
const loadMs = performance.now() - started;
const vectors = JSON.parse(await readFile(new URL("vectors.json", import.meta.url), "utf8"));
const found = { ...(await checkVectors(model, vectors)), loadMs };
console.log(JSON.stringify({ ...found, conforms: isConforming(found, vectors) }));
process.exitCode = isConforming(found, vectors) ? 0 : 1;
