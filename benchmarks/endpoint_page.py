"""The tables of docs/endpoint.md, from the results of endpoint_sst2.py and endpoint_load.py.

python benchmarks/endpoint_page.py
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import put_between, table  # noqa: E402

PAGE, RESULTS = ROOT / "docs" / "endpoint.md", ROOT / "benchmarks" / "results"


WAYS = ("random", "spread", "uncertain")


def sst2(found: dict[str, Any]) -> str:
    """Accuracy against the number of requests."""
    lines = [
        [
            f"{line['requests']:,}",
            *(f"{100 * line[way]['accuracy']:.1f} ({line[way]['asked']:,})" for way in WAYS),
            f"{100 * line['human_labels']:.1f}",
        ]
        for line in found["lines"]
    ]
    head = " ".join(
        [
            f"SST-2 from no labels at all (`benchmarks/endpoint_sst2.py`): {found['pool']:,} texts of train, judged on",
            f"the {found['test']:,} rows of its dev file, which play the person who checks. {_model(found)}",
            "Accuracy in % of the drafted recipe's Bi-LSTM, which starts from `general:english`, trained on its",
            "answers, with the texts that were asked in brackets; and of the same student alone, with the same",
            "settings, on the human labels of the random texts. One seed: two points are noise.",
        ]
    )
    return f"{head}\n\n{table(['at most', *WAYS, 'human labels'], lines)}"


def _model(found: dict[str, Any]) -> str:
    """Whose answers the server gives."""
    model, test = found["model"], found["lines"][-1]["random"]["model"]
    epochs = "one epoch" if model["epochs"] == 1 else f"{model['epochs']} epochs"
    what = "" if model["layers"] is None else f"of which the last {model['layers']} layers were "
    return " ".join(
        [
            f"The model is a scripted server whose answers are those of {model['checkpoint']}, {what}fine-tuned for",
            f"{epochs} on {model['rows']:,} other rows (`benchmarks/endpoint_answers.py`), which share no five words",
            f"in a row with these texts; it has {100 * test:.1f} % of the judged rows right.",
        ]
    )


def certain(found: list[dict[str, Any]]) -> str:
    """Weights by certainty against none."""
    names = [name for name in found[0]["lines"][0] if name != "requests"]
    lines = [
        [
            f"{one['model']['checkpoint']}, {one['model']['rows']:,} rows: {100 * line[names[0]]['model']:.1f}",
            f"{line[names[0]]['asked']:,}",
            *(f"{100 * line[name]['accuracy']:.1f}" for name in names),
        ]
        for one in found
        for line in one["lines"]
    ]
    head = (
        "SST-2 as above, random texts, accuracy in %, the mean of three seeds of the same Bi-LSTM "
        "(`benchmarks/endpoint_sst2.py --certain`):"
    )
    return f"{head}\n\n{table(['the model, its accuracy', 'texts', *(f'`{name}`' for name in names)], lines)}"


def load(found: dict[str, Any]) -> str:
    """Memory, and tokens against the forecast."""
    forecast, tenth, everything = found["forecast"], found["tenth"], found["all"]
    before, corrected = (f"{100 * abs(forecast[name]):.1f} %" for name in ("off_before", "off_corrected"))
    return " ".join(
        [
            f"With {found['texts']:,} texts, {found['concurrency']} requests at a time, against a scripted server on",
            f"the same machine, the process that asks has a peak of {everything['peak_mb']:.0f} MB after the last",
            f"request, and {tenth['peak_mb']:.0f} MB after a tenth of them. The forecast of the tokens of",
            f"{forecast['texts']:,} other texts is off by {before} before the first request, and by {corrected} after",
            "these answers (`benchmarks/endpoint_load.py`). The server counts words and signs: before the first",
            "request, other models may differ more.",
        ]
    )


def main() -> None:
    """Write them all."""
    for name, written in (("sst2", sst2), ("load", load)):
        found = json.loads((RESULTS / f"endpoint_{name}.json").read_text(encoding="utf-8"))
        put_between(PAGE, written(found), start=f"<!-- {name} -->", end=f"<!-- /{name} -->")
    known = [path for path in sorted(RESULTS.glob("endpoint_certain*.json"))]
    weighed = [json.loads(path.read_text(encoding="utf-8")) for path in known]
    put_between(PAGE, certain(weighed), start="<!-- certain -->", end="<!-- /certain -->")


if __name__ == "__main__":
    main()
