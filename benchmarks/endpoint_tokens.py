"""The forecast of tokens before the first request, next to what tokenizers of language models count.

    npm install --prefix FOLDER gpt-tokenizer llama3-tokenizer-js mistral-tokenizer-js
    LIMBECK_DATA=data python benchmarks/endpoint_tokens.py --modules FOLDER/node_modules
    python benchmarks/endpoint_tokens.py --write-page

Questions about the first rows of data sets, as `limbeck label --dry-run` estimates them without `teacher.tokenizer`,
and as Node counts them with vocabularies that are on npm. Around each message both count the same few tokens, as OpenAI
says for its models. Numbers go to benchmarks/results/endpoint_tokens.json; the table is in docs/endpoint.md.
"""

import argparse
import csv
import gzip
import json
import os
import subprocess
import tempfile
from itertools import islice
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
RESULTS, PAGE = ROOT / "benchmarks" / "results" / "endpoint_tokens.json", ROOT / "docs" / "endpoint.md"
START, END = "<!-- tokens -->", "<!-- /tokens -->"
ROWS, LONGEST = 200, 2_000
DATA = {  # file and separator; the text is in the first column
    "SST-2": ("sst2/train.tsv", "\t"),
    "HWU64": ("arena/hwu64/train.csv", ","),
    "tweets (hate)": ("arena/tweet_hate/train.csv", ","),
    "R8": ("arena/r8/train.csv", ","),
    "German tweets": ("arena/germeval2018/train.csv", ","),
    "TNEWS, Chinese": ("tnews/train.tsv", "\t"),
}
SHOWN = {"o200k": "GPT-4o", "cl100k": "GPT-4", "llama3": "Llama 3", "mistral": "Mistral 7B"}
DESCRIBED: dict[str, Any] = {
    "model": "any",
    "labels": ["refund", "shipping", "other"],
    "multi_label": False,
    "descriptions": {"refund": "wants money back", "shipping": "asks where a parcel is"},
    "instruction": "Classify what a customer writes to an online shop.",
    "examples": [],
    "order": "shuffled",
    "max_characters": LONGEST,
    "options": {},
    "structured_output": "auto",
}
COUNT = """
const fs = require("fs"), sets = JSON.parse(fs.readFileSync(process.argv[2]));
(async () => {
  const llama = (await import(require.resolve("llama3-tokenizer-js"))).default;
  const mistral = (await import(require.resolve("mistral-tokenizer-js"))).default;
  const count = {
    o200k: require("gpt-tokenizer/encoding/o200k_base").countTokens,
    cl100k: require("gpt-tokenizer/encoding/cl100k_base").countTokens,
    llama3: (text) => llama.encode(text, { bos: false, eos: false }).length,
    mistral: (text) => mistral.encode(text, false, false).length,
  };
  const sum = (texts, of) => texts.reduce((total, text) => total + of(text), 0);
  const found = Object.entries(sets).map(([set, texts]) => [
    set, Object.fromEntries(Object.entries(count).map(([name, of]) => [name, sum(texts, of)])),
  ]);
  console.log(JSON.stringify(Object.fromEntries(found)));
})();
"""


def main() -> None:
    """Measure, or write the page."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--modules", type=Path, help="node_modules with the tokenizers")
    options.add_argument("--write-page", action="store_true")
    asked = options.parse_args()
    if not asked.write_page:
        RESULTS.write_text(json.dumps(measured(asked.modules), indent=1) + "\n", encoding="utf-8")
    before, _, rest = PAGE.read_text(encoding="utf-8").partition(START)
    numbers = json.loads(RESULTS.read_text(encoding="utf-8"))
    PAGE.write_text(f"{before}{START}\n\n{table(numbers)}\n\n{END}{rest.partition(END)[2]}", encoding="utf-8")


def table(numbers: dict[str, Any]) -> str:
    """How far off the forecast is: a line for each data set, a column for each tokenizer."""
    lines = [f"| {numbers['rows']} questions | " + " | ".join(SHOWN.values()) + " |", "|---|" + "---:|" * len(SHOWN)]
    for name, one in numbers["sets"].items():
        off = [f"{100 * (one['forecast'] / one['counted'][key] - 1):+.1f} %" for key in SHOWN]
        lines.append(f"| {name} | {' | '.join(off)} |")
    return "\n".join(lines)


def measured(modules: Path) -> dict[str, Any]:
    """Forecast and counts of all questions of each data set."""
    from limbeck.teacher.endpoints.questions import Questions
    from limbeck.teacher.endpoints.tokens import PER_MESSAGE, PER_QUESTION, estimated_tokens

    questions = Questions(DESCRIBED)
    sets: dict[str, list[str]] = {}
    for name, (file, separator) in DATA.items():
        asked = [questions.about(text, None, way="logprobs").body["messages"] for text in texts_of(file, separator)]
        sets[name] = [message["content"] for messages in asked for message in messages]
    around = ROWS * (2 * PER_MESSAGE + PER_QUESTION)
    counted = counts_of(sets, modules)
    found = {
        name: {
            "forecast": around + sum(map(estimated_tokens, texts)),
            "counted": {key: around + count for key, count in counted[name].items()},
        }
        for name, texts in sets.items()
    }
    return {"rows": ROWS, "sets": found}


def texts_of(file: str, separator: str) -> list[str]:
    """The texts of the first rows."""
    path = Path(os.environ["LIMBECK_DATA"]) / file
    with (gzip.open if path.suffix == ".gz" else open)(path, "rt", encoding="utf-8", newline="") as lines:
        rows = csv.reader(lines) if separator == "," else csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
        next(rows)
        return [row[0] for row in islice(rows, ROWS)]


def counts_of(sets: dict[str, list[str]], modules: Path) -> dict[str, dict[str, int]]:
    """What each tokenizer counts, in Node."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        (folder / "node_modules").symlink_to(modules.resolve())
        (folder / "count.cjs").write_text(COUNT, encoding="utf-8")
        (folder / "sets.json").write_text(json.dumps(sets), encoding="utf-8")
        command = ["node", "count.cjs", "sets.json"]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)
    found: dict[str, dict[str, int]] = json.loads(said.stdout)
    return found


if __name__ == "__main__":
    main()
