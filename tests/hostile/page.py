"""docs/reliability.md, from what the campaigns have found."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]
RESULTS = ROOT / "benchmarks" / "results" / "reliability.json"
PAGE = ROOT / "docs" / "reliability.md"

INTRODUCTION = """# Reliability

What happens if somebody gives Limbeck a damaged file, a recipe that makes no sense or a model that was tampered with,
or if a run is killed. Each campaign makes its inputs from seeds, tries one after the other in processes that may end,
and counts. *Clean* is what was dealt with as promised below; everything else is a finding.
[SECURITY](../SECURITY.md) says what is trusted and what is not.
"""

PROMISES = {
    "outside": (
        "commands in an empty home",
        "Each command leaves no file outside the folders that it was given, but for the caches that SECURITY.md\n"
        "names, and addresses no other machine and no name service (seen by strace).",
    ),
    "files": (
        "damaged data files",
        "csv, tsv, JSON lines, JSON, text, Parquet and xlsx, also compressed and in several encodings, with bytes\n"
        "flipped, cut, inserted or repeated, and bombs: training and `limbeck predict` read the same texts, or both\n"
        "refuse with an error that says why (half a character in JSON is answered, and not learned from).\n"
        "No traceback, no file that takes a minute, no process above 900 MB.",
    ),
    "recipes": (
        "changed recipes",
        "Built-in recipes with keys removed, renamed or moved, and nonsensical values: each loads and is\n"
        "written again the same, or is refused with an error that says where.",
    ),
    "folders": (
        "changed model folders",
        "A value, a key or bytes of any file are changed, and the manifest is written to fit: the model is refused\n"
        "with an error, or loads and answers.",
    ),
    "graphs": (
        "changed networks",
        "Attributes, operators, edges, shapes and weights of exported ONNX graphs are changed: the native engine\n"
        "gives the answers of onnxruntime, or leaves the graph to it.",
    ),
    "extension": (
        "calls of the C++ extension",
        "Built with AddressSanitizer and UndefinedBehaviorSanitizer, and with ThreadSanitizer and four threads, and\n"
        "called with any sizes and values: no report, and the same answer as for a row alone, in another thread or in\n"
        "Python.",
    ),
    "server": (
        "requests to a server",
        "Made by schemathesis from /openapi.json, for every address and three models (single texts, pairs, several\n"
        "labels): what the schema allows is answered, all else is refused as the schema says, no status is 500 or\n"
        "above, and the server ends without a traceback. Shapes of tensors are made to fit their texts first, as no\n"
        "schema can ask for that.",
    ),
    "kills": (
        "kills of a run",
        "`limbeck run` is ended with SIGKILL at random moments, three to five times a run, and continued: every file\n"
        "and every number is that of a run that was never killed.",
    ),
}

COMMANDS = """## Again

```
make hostile                           # everything, about half an hour on one core; writes this page
make hostile ONLY="files recipes"      # only these
.venv/bin/python -m tests.hostile graphs --seed 7 --times 0.1      # other inputs, a tenth as many; writes nothing
```

`make test` has a short form of all but the extension. A finding names the seed and number of its input, so that it can
be made again.
"""


def page_of(results: Mapping[str, Mapping[str, Any]]) -> str:
    """The page, in the order of the campaigns."""
    rows = [
        f"| {_link(PROMISES[name][0])} | {found['tried']:,} | {found['clean']:,} | {len(found['findings']):,} |"
        for name, found in results.items()
    ]
    parts = [INTRODUCTION, "\n".join(["| campaign | tried | clean | findings |", "|---|---:|---:|---:|", *rows, ""])]
    parts += [_section(name, found) for name, found in results.items()]
    return "\n".join([*parts, COMMANDS])


def _link(title: str) -> str:
    """To the section of that title, as GitHub and the site name it."""
    return f"[{title}](#{title.lower().replace(' ', '-').replace('+', '')})"


def _section(name: str, found: Mapping[str, Any]) -> str:
    title, promise = PROMISES[name]
    outcomes = "; ".join(f"{what}: {count:,}" for what, count in found["detail"].items())
    lines = [
        f"## {title[0].upper()}{title[1:]}",
        "",
        promise,
        "",
        f"Counted: {outcomes}. It took {_minutes(found['seconds'])} on {found['machine']['cpu']}.",
    ]
    lines += (
        ["", *(f"- `{finding.splitlines()[0][:200]}`" for finding in found["findings"])] if found["findings"] else []
    )
    return "\n".join([*lines, ""])


def _minutes(seconds: float) -> str:
    return f"{seconds:.0f} seconds" if seconds < 100 else f"{seconds / 60:.0f} minutes"
