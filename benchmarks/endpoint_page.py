"""The tables of docs/endpoint.md, from the results of endpoint_sst2.py and endpoint_load.py.

    python benchmarks/endpoint_page.py
"""

import json
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import replaced, table  # noqa: E402

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
    head = (
        f"SST-2 from no labels at all (`benchmarks/endpoint_sst2.py`): {found['pool']:,} texts of train, judged on the "
        f"{found['test']:,} rows of its dev file, which play the person who checks. The model is a scripted server whose "
        f"answers are those of all-MiniLM-L6-v2 fine-tuned for one epoch on {found['rows_of_the_model']:,} other rows; it has "
        f"{100 * model:.1f} % of the judged rows right. Accuracy in % of a student of n-grams, which takes seconds, trained on its "
        "answers, with the texts that were asked in brackets; and of the same student alone on the human labels of as many "
        "random texts. One seed: a point or two is noise."
    )
    return f"{head}\n\n{table(['at most', *ways, 'human labels'], lines)}"


def load(found: dict[str, Any]) -> str:
    """Memory, and tokens against the forecast."""
    forecast, tenth, everything = found["forecast"], found["tenth"], found["all"]
    return (
        f"With {found['texts']:,} texts, {found['concurrency']} requests at a time, against a scripted server on the same "
        f"machine, the process that asks has a peak of {everything['peak_mb']:.0f} MB after the last request, and "
        f"{tenth['peak_mb']:.0f} MB after a tenth of them. The forecast of the tokens of {forecast['texts']:,} other texts is off by "
        f"{100 * abs(forecast['off_before']):.1f} % before the first request and by {100 * abs(forecast['off_corrected']):.1f} % after these "
        "answers (`benchmarks/endpoint_load.py`; the server counts words and signs, so other models differ more before the "
        "first request)."
    )


def main() -> None:
    """Write both."""
    page = PAGE.read_text(encoding="utf-8")
    for name, written in (("sst2", sst2), ("load", load)):
        found = json.loads((RESULTS / f"endpoint_{name}.json").read_text(encoding="utf-8"))
        page = replaced(page, written(found), start=f"<!-- {name} -->", end=f"<!-- /{name} -->")
    PAGE.write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
