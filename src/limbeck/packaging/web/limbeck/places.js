// Files and the runtime, in a browser over HTTP and in Node from the disk.

import { LimbeckError } from "./characters.js";

const RUNTIME = new URL("../runtime/", import.meta.url);
const BINARY = "ort-wasm-simd-threaded.wasm";
let opened;

export async function readBytes(address) {
  if (address.protocol === "file:") {
    const { readFile } = await import("node:fs/promises");
    return new Uint8Array(await readFile(address));
  }
  const answer = await fetch(address);
  if (!answer.ok) throw new LimbeckError(`${address} cannot be read: ${answer.status}`);
  return new Uint8Array(await answer.arrayBuffer());
}

export async function readText(address) {
  return new TextDecoder().decode(await readBytes(address));
}

/** onnxruntime-web as it lies beside this module, with one thread: several need headers that file servers do not send. */
export function runtimeOf() {
  opened ??= openRuntime();
  return opened;
}

async function openRuntime() {
  const runtime = await import(new URL("ort.wasm.bundle.min.mjs", RUNTIME));
  const ort = runtime.default ?? runtime;
  ort.env.wasm.numThreads = 1;
  const binary = new URL(BINARY, RUNTIME);
  if (binary.protocol === "file:") ort.env.wasm.wasmBinary = (await readBytes(binary)).buffer;
  else ort.env.wasm.wasmPaths = { wasm: binary.href };
  return ort;
}
