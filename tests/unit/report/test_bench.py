"""The table on the terminal: its order, and unknown values."""

import io
from typing import Any

from rich.console import Console

from limbeck.report.bench import print_bench


def case(batch: int, p50: float, *, threads: int = 1, faster: float | None = 1.0) -> dict[str, Any]:
    """The numbers of one case."""
    return {
        "threads": threads,
        "batch": batch,
        "call_ms": {"p50": p50, "p95": 2 * p50, "p99": 3 * p50},
        "calls": 10,
        "rows_per_second": 1000 * batch / p50,
        "times_faster": faster,
    }


def model(name: str, *cases: dict[str, Any], engine: str = "onnxruntime") -> dict[str, Any]:
    """One model's numbers."""
    return {"name": name, "engine": engine, "folder": name, "size_mb": 3.5, "cases": list(cases)}


def printed(*models: dict[str, Any], width: int = 100) -> str:
    """What a terminal of that width shows."""
    result = {
        "machine": {"cpu": "A Processor"},
        "texts": {"source": "built in", "count": 64, "pairs": False, "median_characters": 120},
        "measured_by": "bert",
        "models": list(models),
    }
    sink = io.StringIO()
    print_bench(result, Console(file=sink, width=width))
    return sink.getvalue()


def lines_of(page: str) -> list[list[str]]:
    """The words of every line of the table."""
    return [line.split() for line in page.splitlines()]


def test_the_slowest_is_first_with_its_percentiles_rates_and_ratios() -> None:
    fast = model("fast", case(1, 0.1, faster=800.0), case(32, 1.6, faster=500.0), engine="native avx2")
    slow = model("bert", case(1, 80.0), case(32, 800.0), engine="pytorch")

    page = printed(fast, slow)

    title, headings, _, first, second, *_ = lines_of(page)
    assert title == ["1", "thread"]
    assert headings == ["model", "engine", "MB", "p50", "ms", "p95", "p99", "faster", "32/s", "bulk"]
    assert first == ["bert", "pytorch", "3.50", "80.0", "160", "240", "1.0×", "40.0", "1.0×"]
    assert second == ["fast", "native", "3.50", "0.100", "0.200", "0.300", "800×", "20,000", "500×"]


def test_what_was_measured_is_below() -> None:
    page = " ".join(printed(model("bert", case(1, 80.0), case(64, 900.0))).split())

    assert "on 64 texts (built in; half of them have up to 120 characters)" in page
    assert "words are known" in page
    assert "A Processor" in page
    assert "64/s: rows per second in calls of 64. Faster: compared with bert" in page


def test_every_number_of_threads_has_a_table() -> None:
    page = printed(model("only", case(1, 1.0), case(1, 0.5, threads=4)))

    titles = [line for line in lines_of(page) if line[1:] in (["thread"], ["threads"])]
    assert titles == [["1", "thread"], ["4", "threads"]]


def test_a_case_that_was_left_out_stays_open() -> None:
    slow = model("bert", case(1, 900.0), case(32, 9000.0))
    fast = model("fast", case(1, 1.0), case(32, 2.0, faster=4500.0), case(256, 9.0, faster=None))

    page = printed(slow, fast)

    _, headings, _, first, second, *_ = lines_of(page)
    assert headings[-3:] == ["32/s", "256/s", "bulk"]
    assert first[-3:] == ["3.56", "–", "1.0×"]
    assert second[-3:] == ["16,000", "28,444", "4,500×"]


def test_a_model_that_was_not_timed_on_a_number_of_threads_is_first_there_and_stays_open() -> None:
    """A text took it more than half a minute on one thread, so nothing was asked of it on two."""
    slow = model("bert", case(1, 40_000.0))
    fast = model("fast", case(1, 1.0, faster=40_000.0), case(1, 0.9, threads=2, faster=None))

    tables, _, below = printed(slow, fast).partition("From text")

    *_, title, headings, _, first, second, _ = lines_of(tables)
    assert title == ["2", "threads"]
    assert headings == ["model", "engine", "MB", "p50", "ms", "p95", "p99", "faster"]
    assert first == ["bert", "onnxruntime", "3.50", "–", "–", "–", "–"]
    assert second == ["fast", "onnxruntime", "3.50", "0.900", "1.80", "2.70", "–"]
    assert "would have taken too long" in " ".join(below.split())


def test_a_narrow_terminal_keeps_what_matters_most() -> None:
    page = printed(model("bert-base-uncased", case(1, 80.0), case(32, 800.0), engine="onnxruntime"), width=50)

    assert lines_of(page)[1] == ["model", "engine", "p50", "ms", "p95", "faster"]


def test_usual_names_fit_a_terminal_of_80_characters() -> None:
    page = printed(model("all-MiniLM-L6-v2", *(case(batch, 86.0) for batch in (1, 32, 256))), width=80)

    assert lines_of(page)[1][3:] == ["p50", "ms", "p95", "p99", "faster", "32/s", "256/s", "bulk"]


def test_names_are_not_taken_for_markup() -> None:
    page = printed(model("[b]", case(1, 80.0)), model("[/]", case(1, 70.0)), model(":x:", case(1, 60.0)))

    assert [line[0] for line in lines_of(page)[3:6]] == ["[b]", "[/]", ":x:"]
