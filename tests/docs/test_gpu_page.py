"""What docs/results.md says of training on a GPU, and the script that times a whole run."""

import json
from importlib import import_module
from pathlib import Path
from types import ModuleType

import pytest


def module(name: str) -> ModuleType:
    """A script of benchmarks/, which is no part of the package."""
    return import_module(f"benchmarks.{name}")


def test_what_a_whole_run_took_is_shown_with_its_stages_and_the_share_of_the_teacher(tmp_path: Path) -> None:
    found = {
        "command": "limbeck run sst2-text",
        "machine": {"cpu": "a processor", "gpu": "a GPU", "cores": 16},
        "seconds": 450.0,
        "stages": {"corpus": 0.8, "teacher": 180.0, "labels": 45.0, "students": 150.0},
        "share_of_teacher": 0.5,
        "students": 6,
        "rows_of_a_student": 500_000,
        "training_rows_per_second": 120_000,
        "labelling_rows_per_second": 13_333.3,
        "rows_asked": 600_000,
        "peak_memory_mb": 20_480.0,
        "busy_percent": 71.2,
        "beside": "two other trainings",
        "dev_accuracy": {"bilstm": [0.93, 0.92], "bilstm-alone": [0.85, 0.86]},
    }
    again = {**found, "seconds": 600.0, "dev_accuracy": {"bilstm": [0.91, 0.92]}, "beside": "nothing but a clock"}
    (tmp_path / "whole_run.json").write_text(json.dumps({**found, "again": [again]}), encoding="utf-8")

    section = module("gpu_page").gpu_section(tmp_path)

    assert "took **7.5 minutes**, at most 20.0 GiB of the GPU's memory; it was busy 71 % of the time." in section
    assert "| teacher | 180 | 40% |\n| students | 150 | 33% |\n| labels | 45 | 10% |" in section
    assert "corpus" not in section  # less than a second
    assert "takes 50% of the time" in section
    assert "on the same GPU, and included in both of these numbers: two other trainings." in section
    assert "On dev they reached: bilstm-alone 85.5 (85.0 86.0), bilstm 92.5 (93.0 92.0)." in section
    assert "Once more (a GPU, a processor, 16 cores): 10.0 minutes, 180 seconds of them to fine-tune" in section
    assert "which reached: bilstm 91.5 (91.0 92.0). The GPU was busy 71 % of the time." in section
    assert "Also running: nothing but a clock." in section


def test_of_a_whole_run_every_student_has_its_best_epoch_in_the_order_of_seeds(tmp_path: Path) -> None:
    for name, accuracies in {"bilstm/0": [0.9, 0.8], "bilstm/10": [0.7, 0.95], "bilstm/9": [0.6, 0.85]}.items():
        folder = tmp_path / "students" / name
        folder.mkdir(parents=True)
        history = [{"dev_accuracy": accuracy} for accuracy in accuracies]
        (folder / "history.json").write_text(json.dumps(history), encoding="utf-8")

    assert module("whole_run").dev_accuracy(tmp_path) == {"bilstm": [0.9, 0.85, 0.95]}


def test_of_a_whole_run_the_time_of_every_teacher_counts_as_the_teachers() -> None:
    spent = {"corpus": 5.0, "pretrained/bert": 1.0, "teachers/bert-1": 20.0, "teachers/bert-2": 30.0, "teacher": 0.1}

    whole_run = module("whole_run")

    assert whole_run.seconds_of_teacher({**spent, "labels": 40.0}) == pytest.approx(91.1)
    assert whole_run.by_room(spent)["teachers"] == 50.0


def test_the_steps_on_a_gpu_stand_beside_plain_ones(tmp_path: Path) -> None:
    line = {
        "batch_size": 512,
        "precision": "fp32",
        "limbeck": {"rows_per_second": 68_308.1, "peak_memory_mb": 1049.3},
        "plain": {"rows_per_second": 85_337.4},
        "limbeck_to_plain": 0.8,
    }
    found = {
        "student": {"words": 40_000, "width": 400, "hidden_size": 300},
        "words_a_row": 17.6,
        "training": [line],
        "labelling": [{"precision": "bf16", "rows_per_second": 9_888.6, "peak_memory_mb": 1_975.6}],
        "machine": {"cpu": "a processor", "cores": 16},
    }
    (tmp_path / "gpu_training.json").write_text(json.dumps(found), encoding="utf-8")

    section = module("gpu_page").gpu_section(tmp_path)

    assert "| training, batches of 512 | fp32 | 68,308 | 85,337 | 0.80 | 1,049 |" in section
    assert "| labelling | bf16 | 9,889 |  |  | 1,976 |" in section


def test_without_measurements_there_is_no_section_about_the_gpu(tmp_path: Path) -> None:
    assert module("gpu_page").gpu_section(tmp_path) == ""


@pytest.fixture
def whole_run(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """The script, with a run that takes no time and finds nothing but its number."""
    script, runs = module("whole_run"), iter(range(9))
    monkeypatch.setattr(script, "watched", lambda _words: (60.0, []))
    monkeypatch.setattr(script, "numbers", lambda _run, seconds: {"run": next(runs), "seconds": seconds})
    return script


def timed(script: ModuleType, folder: Path, monkeypatch: pytest.MonkeyPatch, *options: str) -> None:
    """Run the script; its numbers go to whole_run.json in the folder."""
    words = ["whole_run.py", "--runs", str(folder / "runs"), "--out", str(folder / "whole_run.json"), *options]
    monkeypatch.setattr("sys.argv", words)
    script.main()


def test_one_more_whole_run_stands_beside_the_first(
    whole_run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed(whole_run, tmp_path, monkeypatch)
    timed(whole_run, tmp_path, monkeypatch, "--again", "--beside", "a clock")
    timed(whole_run, tmp_path, monkeypatch, "--again")

    found = json.loads((tmp_path / "whole_run.json").read_text(encoding="utf-8"))
    assert found["run"] == 0
    assert [(one["run"], one["beside"]) for one in found["again"]] == [(1, "a clock"), (2, "")]


def test_a_whole_run_of_another_line_is_not_put_beside_the_first(
    whole_run: ModuleType, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    timed(whole_run, tmp_path, monkeypatch)
    before = (tmp_path / "whole_run.json").read_bytes()

    with pytest.raises(SystemExit, match="is of another command: limbeck run sst2-text-copies"):
        timed(whole_run, tmp_path, monkeypatch, "--again", "--only", "sst2:text")

    assert (tmp_path / "whole_run.json").read_bytes() == before
