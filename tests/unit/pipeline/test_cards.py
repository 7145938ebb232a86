"""Cards beside the shipped models: they keep step with the report, and with whoever changes them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.atomic_folder import why_redo, written_atomically
from limbeck.artifacts.manifest import Key, read_manifest
from limbeck.artifacts.model_folder import README, ModelFacts, ModelFolder, open_model, save_facts
from limbeck.artifacts.report import Report, save_report
from limbeck.pipeline.cards import write_cards
from limbeck.recipe.load import parse_recipe

KEY = Key(section={}, inputs={})
RECIPE = parse_recipe({"corpus": {"train": "train.csv"}}, recipe="toy.toml")
ENTRY = {
    "kind": "bilstm",
    "precision": "fp32",
    "seed_count": 1,
    "accuracy": 0.9,
    "accuracy_sd": 0.0,
    "accuracy_ci95": [0.88, 0.92],
    "macro_f1": 0.9,
    "teacher_agreement": 0.95,
    "ece": 0.02,
    "per_class": None,
    "parameters": 1000,
    "parameters_without_embeddings": 100,
    "size_mb": 0.1,
    "latency_ms": {"p50": 1.0, "p95": 2.0},
    "rows_per_second": 100.0,
    "speedup_over_teacher": 10.0,
}
MakeReport = Callable[..., Report]


@pytest.fixture
def make_report(tmp_path: Path) -> MakeReport:
    """Makes reports about a teacher and the model `bilstm`."""

    def make(accuracy: float = 0.9, **changes: Any) -> Report:
        data = {
            "run": "toy",
            "corpus": {"name": "toy", "rows": {"train": 5}, "labels": ["a", "b"], "language": "en", "pair": False},
            "judged_split": "test",
            "judged_rows": 10,
            "machine": {"cpu": "A Processor", "threads": 1},
            "models": [
                {**ENTRY, "name": "big", "role": "teacher"},
                {**ENTRY, "name": "bilstm", "role": "student", "accuracy": accuracy},
            ],
            "transfer": None,
            "curves": [],
            **changes,
        }
        with written_atomically(tmp_path / "report", kind="report", key=KEY) as scratch:
            save_report(scratch, data=data, page="")
        return Report(tmp_path / "report")

    return make


@pytest.fixture
def model(tmp_path: Path) -> ModelFolder:
    """A shipped model."""
    facts = ModelFacts(
        name="bilstm",
        kind="bilstm",
        precision="fp32",
        labels=["a", "b"],
        language="en",
        pair=False,
        max_length=64,
        parameters=1000,
        parameters_without_embeddings=100,
    )
    with written_atomically(tmp_path / "models" / "bilstm", kind="model", key=KEY) as scratch:
        save_facts(scratch, facts)
        for name in ("model.onnx", "tokenizer.json"):
            (scratch / name).write_text("", encoding="utf-8")
    return ModelFolder(tmp_path / "models" / "bilstm")


def test_a_model_gets_its_card_and_stays_whole(model: ModelFolder, make_report: MakeReport) -> None:
    before, size = read_manifest(model.folder, kind="model"), model.size_mb()

    write_cards(RECIPE, make_report(), [model])

    text = (model.folder / README).read_text(encoding="utf-8")
    assert text.startswith("---\n")
    assert "`logit_mse`" in text
    assert "the first 64 tokens" in text
    assert read_manifest(model.folder, kind="model") == before
    assert open_model(model.folder) == model
    assert why_redo(model.folder, kind="model", key=KEY) is None
    assert model.size_mb() == size


def test_the_same_report_leaves_a_changed_card_alone(model: ModelFolder, make_report: MakeReport) -> None:
    report = make_report()
    write_cards(RECIPE, report, [model])
    card = model.folder / README
    changed = card.read_text(encoding="utf-8").replace("# bilstm", "# Our very own model")
    card.write_text(changed, encoding="utf-8")

    write_cards(RECIPE, report, [model])

    assert card.read_text(encoding="utf-8") == changed


def test_another_report_brings_another_card(model: ModelFolder, make_report: MakeReport) -> None:
    write_cards(RECIPE, make_report(0.9), [model])

    write_cards(RECIPE, make_report(0.777), [model])

    text = (model.folder / README).read_text(encoding="utf-8")
    assert "77.7" in text
    assert text.count("<!-- written by limbeck") == 1
    assert [path.name for path in model.folder.iterdir() if "partial" in path.name] == []


def test_a_card_that_was_removed_comes_back(model: ModelFolder, make_report: MakeReport) -> None:
    report = make_report()
    write_cards(RECIPE, report, [model])
    (model.folder / README).unlink()

    write_cards(RECIPE, report, [model])

    assert (model.folder / README).is_file()


def test_a_readme_that_is_not_ours_is_never_overwritten(model: ModelFolder, make_report: MakeReport) -> None:
    (model.folder / README).write_text("# Mine\n", encoding="utf-8")

    write_cards(RECIPE, make_report(), [model])

    assert (model.folder / README).read_text(encoding="utf-8") == "# Mine\n"


def test_a_model_that_the_report_does_not_know_has_no_card(model: ModelFolder, make_report: MakeReport) -> None:
    write_cards(RECIPE, make_report(models=[]), [model])

    assert not (model.folder / README).exists()
