"""The page about browsers shows what was measured, and what was measured is within what it promises."""

import json
from pathlib import Path

from benchmarks.readers import RESULTS, page
from limbeck.packaging.onnxruntime_web import FILES, VERSION
from limbeck.packaging.vectors import MOST_OTHER_LABELS, TOLERANCES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "browsers.md"
NUMBERS = json.loads(RESULTS.read_text(encoding="utf-8"))


def test_the_page_has_the_tables_of_what_was_measured() -> None:
    text = PAGE.read_text(encoding="utf-8")

    assert page(text) == text
    assert f"onnxruntime-web@{VERSION}" in text
    assert NUMBERS["onnxruntime-web"] == VERSION
    sizes = [sum(NUMBERS["runtime_bytes"][name][kind] for name in FILES) / 1e6 for kind in ("bytes", "gzip")]
    assert f"The runtime is {sizes[0]:.1f} MB, of which a server that packs its files sends {sizes[1]:.1f} MB" in text


def test_every_reader_conformed() -> None:
    each = [(model, found) for model in NUMBERS["models"] for found in model["readers"].values()]

    assert len(each) > 20
    assert {"node", "node_native", "chromium", "cpp"} <= set(NUMBERS["models"][0]["readers"])
    assert [found for _, found in each if found["rows"] != 1_000 or found["other_tokens"]] == []
    assert [found for _, found in each if found["other_labels"] > MOST_OTHER_LABELS * found["rows"]] == []
    assert [found for model, found in each if found["largest_difference"] > model["tolerance"]] == []


def test_the_tolerances_are_those_of_the_page() -> None:
    text = " ".join(PAGE.read_text(encoding="utf-8").split())

    assert f"Logits may differ by {TOLERANCES['fp32']} in fp32 and {TOLERANCES['int8']} in int8" in text
