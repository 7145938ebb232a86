// SentencePiece's own table of characters ("Precompiled" in a tokenizer.json): a search tree in a double array.

const ENCODER = new TextEncoder();
const LONGEST_CLUSTER = 6; // bytes from which on what is seen as one character is not looked up as a whole

/** A function from text to text. The table is base64: the size of the tree, the tree, and texts that end with a zero. */
export function precompiled({ precompiled_charsmap: table }) {
  const bytes = Uint8Array.from(atob(table), (letter) => letter.charCodeAt(0));
  const size = new DataView(bytes.buffer).getUint32(0, true);
  const units = new Uint32Array(bytes.buffer.slice(4, 4 + size));
  const texts = bytes.subarray(4 + size);
  const decoder = new TextDecoder();
  const clusters = new Intl.Segmenter("und", { granularity: "grapheme" });
  const known = new Map();

  function looked(part) {
    if (!known.has(part)) known.set(part, find(part));
    return known.get(part);
  }

  /** What the shortest beginning of a part that is in the table becomes; undefined without one. */
  function find(part) {
    let place = offset(units[0]);
    for (const byte of ENCODER.encode(part)) {
      if (byte === 0) return undefined;
      place ^= byte;
      const unit = units[place] ?? 0;
      if ((unit & 0x800000ff) >>> 0 !== byte) return undefined;
      place ^= offset(unit);
      if (unit & 0x100) {
        const start = units[place] & 0x7fffffff;
        return decoder.decode(texts.subarray(start, texts.indexOf(0, start)));
      }
    }
    return undefined;
  }

  return (text) => {
    let found = "";
    for (const { segment } of clusters.segment(text)) {
      const whole = ENCODER.encode(segment).length < LONGEST_CLUSTER ? looked(segment) : undefined;
      if (whole !== undefined) found += whole;
      else for (const letter of segment) found += looked(letter) ?? letter;
    }
    return found;
  };
}

function offset(unit) {
  return (unit >>> 10) << ((unit & 0x200) >>> 6);
}
