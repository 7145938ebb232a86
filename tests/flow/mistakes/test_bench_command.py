"""`limbeck bench`: its table, its JSON, and what it says in clumsy hands."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]
QUICK = ("--seconds", "0.02", "--threads", "1", "--batch", "2")


def test_models_appear_in_one_table(model: Path, limbeck: Command) -> None:
    answer = limbeck("bench", model, *QUICK)

    assert answer.code == 0, answer.err
    assert answer.out.startswith("1 thread\nmodel")
    assert f"Faster: compared with {model.name}" in " ".join(answer.out.split())


def test_all_numbers_come_as_json(model: Path, tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "rows.csv").write_text("stars,body\n5,a gorgeous film\n1,a dreadful film\n", encoding="utf-8")

    answer = limbeck("bench", model, "--texts", tmp_path / "rows.csv", "--text", "body", "--json", *QUICK)

    found = json.loads(answer.out)
    assert found["texts"]["count"] == 2
    assert [case["batch"] for case in found["models"][0]["cases"]] == [1, 2]
    assert set(found["models"][0]["cases"][0]["call_ms"]) == {"p50", "p95", "p99"}


def test_a_run_is_timed_with_its_teacher(toy: Any, limbeck: Command) -> None:
    answer = limbeck("bench", toy.run, "--json", *QUICK)

    models = json.loads(answer.out)["models"]
    assert models[0]["engine"] == "pytorch"
    assert {model["name"] for model in models[1:]} == {"bilstm", "bilstm-alone", "bilstm-int8"}


def test_a_folder_that_is_not_there_is_no_model(limbeck: Command) -> None:
    assert limbeck("bench", "nowhere").refused_with("'nowhere' is not a model", "Give the")


def test_models_of_pairs_and_of_single_texts_are_refused_together(
    model: Path, pair_model: Path, limbeck: Command
) -> None:
    assert limbeck("bench", model, pair_model).refused_with("cannot be timed on the same rows", "in two calls")


def test_a_file_of_single_texts_is_refused_for_pairs(pair_model: Path, tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "rows.txt").write_text("one text alone\n", encoding="utf-8")

    assert limbeck("bench", pair_model, "--texts", tmp_path / "rows.txt").refused_with("row 1", "no tab", "<TAB>")


def test_a_column_of_second_texts_is_refused_for_single_texts(model: Path, tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "rows.csv").write_text("a,b\none,two\n", encoding="utf-8")

    answer = limbeck("bench", model, "--texts", tmp_path / "rows.csv", "--text", "a", "--pair", "b")

    assert answer.refused_with("one text per row, not two", "Remove `--pair`")


def test_a_file_without_texts_is_refused(model: Path, tmp_path: Path, limbeck: Command) -> None:
    (tmp_path / "rows.txt").write_text("\n\n", encoding="utf-8")

    assert limbeck("bench", model, "--texts", tmp_path / "rows.txt").refused_with("has no rows")
    assert limbeck("bench", model, "--texts", tmp_path / "gone.txt").refused_with("no file", "looked in")


def test_columns_without_a_file_are_refused(model: Path, limbeck: Command) -> None:
    assert limbeck("bench", model, "--text", "body").refused_with("columns are given without a file", "--texts")


def test_a_teacher_that_is_not_one_is_refused(model: Path, tmp_path: Path, limbeck: Command) -> None:
    assert limbeck("bench", model, "--teacher", tmp_path).refused_with("is not a teacher", "Give a Hugging Face folder")


def test_a_teacher_that_does_not_load_is_reported_with_the_reason(
    model: Path, tmp_path: Path, limbeck: Command
) -> None:
    (tmp_path / "config.json").write_text('{"model_type": "no such family"}', encoding="utf-8")

    answer = limbeck("bench", model, "--teacher", tmp_path, *QUICK)

    assert answer.refused_with(f"times '{tmp_path.name}' ended", "its last line of output:", "Check that the folder")
