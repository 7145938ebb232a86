"""`limbeck labels` on a real run: sound labels, damaged ones, and labels that become a teacher of their own."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

Command = Callable[..., Any]


def test_labels_of_a_finished_run_are_what_its_teacher_says(toy: Any, limbeck: Command) -> None:
    answer = limbeck("labels", toy.run, "--verify", "--sample", 50)

    assert answer.code == 0, answer
    assert "50 rows, 100.00% with the same label" in answer.out
    assert "transfer" in answer.out


def test_a_damaged_shard_ends_with_status_1(toy: Any, limbeck: Command) -> None:
    shard = next((toy.run.parent / ".label-store").rglob("*.arrow"))
    shard.write_bytes(shard.read_bytes()[:-1])

    answer = limbeck("labels", toy.run, "--verify", "--sample", 5)

    assert answer.code == 1
    assert shard.name in answer.out


def test_exported_labels_are_a_teacher_of_kind_file(toy: Any, limbeck: Command, tmp_path: Path) -> None:
    assert limbeck("labels", toy.run, "--export", toy.folder / "data" / "labels.jsonl").code == 0
    recipe = toy.recipe.read_text(encoding="utf-8")
    start, end = recipe.index("[teacher]"), recipe.index("[labeling]")
    again = toy.recipe.with_name("again.toml")
    again.write_text(
        f'{recipe[:start]}[teacher]\nkind = "file"\npath = "labels.jsonl"\n\n{recipe[end:]}', encoding="utf-8"
    )

    answer = limbeck("run", again, "--out", tmp_path / "again", "--until", "labeling")

    assert answer.code == 0, answer.err
    shown = [json.loads(limbeck("labels", run, "--json").out)["splits"] for run in (toy.run, tmp_path / "again")]
    assert shown[0]["train"]["teacher_balance"] == shown[1]["train"]["teacher_balance"]
    assert shown[0]["transfer"]["rows"] == shown[1]["transfer"]["labelled"]


def test_an_ending_that_says_nothing_is_refused(toy: Any, limbeck: Command, tmp_path: Path) -> None:
    answer = limbeck("labels", toy.run, "--export", tmp_path / "labels.xls")

    assert answer.refused_with("its ending '.xls'", ".jsonl", ".csv", ".parquet")


def test_a_run_without_labels_is_refused(toy: Any, limbeck: Command) -> None:
    shutil.rmtree(toy.run / "labels")

    assert limbeck("labels", toy.run).refused_with("it has no labels yet", f"limbeck run {toy.run}")
    assert limbeck("labels", "nowhere").refused_with("'nowhere' is not a run")
