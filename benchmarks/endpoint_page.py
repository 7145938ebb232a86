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


def sst2(found: dict[str, Any]) -> str:
    """Accuracy against the number of requests."""
    ways = ("random", "spread", "uncertain")
    lines = [
        [
            f"{line['requests']:,}",
            *(f"{100 * line[way]['accuracy']:.1f} ({line[way]['asked']:,})" for way in ways),
            f"{100 * line['human_labels']:.1f}",
        ]
        for line in found["lines"]
    ]
    model = found["lines"][-1]["random"]["model"]
    head = " ".join(
        [
            f"SST-2 from no labels at all (`benchmarks/endpoint_sst2.py`): {found['pool']:,} texts of train, judged on",
            f"the {found['test']:,} rows of its dev file, which play the person who checks. The model is a scripted",
            "server whose answers are those of all-MiniLM-L6-v2, fine-tuned for one epoch on",
            f"{found['rows_of_the_model']:,} other rows; it has {100 * model:.1f} % of the judged rows right.",
            "Accuracy in % of a student of n-grams, which takes seconds, trained on its answers, with the texts that",
            "were asked in brackets; and of the same student alone on the human labels of as many random texts.",
            "One seed: a point or two is noise. With so few rows any pretrained student would be better; what counts",
            "here is the difference between the columns.",
        ]
    )
    return f"{head}\n\n{table(['at most', *ways, 'human labels'], lines)}"


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
    """Write both."""
    for name, written in (("sst2", sst2), ("load", load)):
        found = json.loads((RESULTS / f"endpoint_{name}.json").read_text(encoding="utf-8"))
        put_between(PAGE, written(found), start=f"<!-- {name} -->", end=f"<!-- /{name} -->")


if __name__ == "__main__":
    main()
