"""Before a run: mistakes about data and teachers are found from the recipe alone, and a sound recipe passes."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from limbeck.doctor.finding import Examination
from limbeck.doctor.run import examine
from limbeck.progress import SilentReporter

ToyRows = tuple[tuple[str, str], ...]
Look = Callable[..., Examination]
LATER = {
    "refused",
    "rival",
    "teacher-below",
    "copies",
    "weak-losses",
    "student-chance",
    "epochs",
    "overfitting",
    "gain",
    "noise",
    "headroom",
    "int8",
}  # these take a run


@pytest.fixture
def look(toy_csv: Path, tmp_path: Path) -> Look:
    """look(sections, corpus=…): examine a recipe about the toy rows with these tables, written as TOML."""

    def look(sections: str = "", *, corpus: str = "") -> Examination:
        recipe = tmp_path / "toy.toml"
        text = f'[corpus]\ntrain = "{toy_csv.name}"\n{corpus}\n[student]\nword_vectors = "random"\n{sections}'
        recipe.write_text(text, encoding="utf-8")
        return examine(str(recipe), reporter=SilentReporter())

    return look


def serious(examination: Examination) -> list[tuple[str, str]]:
    return [(finding.check, finding.what) for finding in examination.findings if finding.level != "note"]


@pytest.fixture
def small_student() -> str:
    return "embedding_size = 8\nhidden_size = 4\ndense_size = 4\n"


def test_a_sound_recipe_passes(look: Look, small_student: str, tiny_teacher_folder: Path) -> None:
    found = look(f'{small_student}\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"')

    assert serious(found) == []
    assert found.kind == "recipe"
    assert {"overlap", "balance", "student-length", "teacher-length", "unknown-words", "size"} <= set(found.checked)
    assert found.not_checked.keys() == LATER | {
        "abstaining",
        *("label-order", "teacher-chance", "teacher-steady", "transfer-overlap", "domain"),
    }
    assert found.not_checked["label-order"] == "the teacher is not fine-tuned yet"


def test_nothing_is_left_behind(look: Look, small_student: str, tiny_teacher_folder: Path, tmp_path: Path) -> None:
    look(f'{small_student}\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"')

    assert sorted(path.name for path in tmp_path.iterdir()) == ["toy.csv", "toy.toml"]


def test_dev_rows_in_the_transfer_text_are_found(
    look: Look, small_student: str, tiny_teacher_folder: Path, tmp_path: Path, toy_rows: ToyRows
) -> None:
    (tmp_path / "lines.txt").write_text("\n".join(text for text, _ in toy_rows), encoding="utf-8")
    tables = f'{small_student}\n[transfer]\nfiles = ["lines.txt"]\noverlap = "report"\nnear_duplicates = 1.0\n'

    found = look(f'{tables}[teacher]\ncheckpoint = "{tiny_teacher_folder}"')

    assert serious(found) == [("transfer-overlap", "20 of 20 dev rows appear in the transfer text")]
    assert found.has_errors


def test_a_ready_teacher_that_guesses_is_found(look: Look, small_student: str, tiny_teacher_folder: Path) -> None:
    """Its weights are random."""
    found = look(
        f'{small_student}\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"\ntrain = "none"\nprecision = "fp32"'
    )

    name = tiny_teacher_folder.name
    assert serious(found) == [("teacher-chance", f"the teacher {name} is hardly better than guessing")]
    assert {"label-order", "teacher-chance", "teacher-steady"} <= set(found.checked)


def test_a_ready_teacher_of_other_classes_is_found(look: Look, small_student: str, tiny_teacher_copy: Path) -> None:
    config = json.loads((tiny_teacher_copy / "config.json").read_text(encoding="utf-8"))
    config |= {"id2label": {"0": "positive", "1": "negative"}, "label2id": {"positive": 0, "negative": 1}}
    (tiny_teacher_copy / "config.json").write_text(json.dumps(config), encoding="utf-8")

    found = look(f'{small_student}\n[teacher]\ncheckpoint = "{tiny_teacher_copy}"\ntrain = "none"')

    (finding,) = [finding for finding in found.findings if finding.level == "error"]
    assert finding.check == "teacher"
    assert "permutation" in f"{finding.what} {finding.evidence}"
    assert "label_names" in finding.advice


def test_a_file_of_answers_with_swapped_columns_is_found(
    look: Look, small_student: str, tmp_path: Path, toy_rows: ToyRows
) -> None:
    lines = [
        json.dumps(
            {
                "text": text,
                "negative": 0.9 if label == "positive" else 0.1,
                "positive": 0.1 if label == "positive" else 0.9,
            }
        )
        for text, label in toy_rows
    ]
    (tmp_path / "answers.jsonl").write_text("\n".join(lines), encoding="utf-8")

    found = look(f'{small_student}\n[teacher]\nkind = "file"\npath = "answers.jsonl"')

    assert serious(found) == [("label-order", "the teacher answers.jsonl has negative, positive in another order")]
    assert found.not_checked["teacher-steady"] == "the teacher is a file, whose answers do not change"
    assert found.not_checked["size"] == "the size of the teacher is not known"


def test_a_checkpoint_that_is_not_one_is_reported_once(look: Look, small_student: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()

    found = look(f'{small_student}\n[teacher]\ncheckpoint = "empty"')

    (finding,) = [finding for finding in found.findings if finding.level == "error"]
    assert finding.check == "teacher"
    assert "config.json" in finding.evidence
    assert found.not_checked["teacher-length"] == finding.what


def test_word_vectors_that_outgrow_the_teacher_are_found(look: Look, tiny_teacher_folder: Path) -> None:
    found = look(f'embedding_size = 1000\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"')

    assert serious(found) == [("size", "the word vectors alone are larger than the teacher")]


def test_word_vectors_of_several_sources_count_together(
    toy_csv: Path, tmp_path: Path, tiny_teacher_folder: Path
) -> None:
    (tmp_path / "vectors.txt").write_text(" ".join(["film", *["0.5"] * 1000]), encoding="utf-8")
    recipe = tmp_path / "toy.toml"
    text = (
        f'[corpus]\ntrain = "{toy_csv}"\n[student]\nembedding_size = 8\nword_vectors = ["random", "vectors.txt"]\n'
        f'[teacher]\ncheckpoint = "{tiny_teacher_folder}"'
    )
    recipe.write_text(text, encoding="utf-8")

    found = examine(str(recipe), reporter=SilentReporter())

    assert serious(found) == [("size", "the word vectors alone are larger than the teacher")]


@pytest.mark.parametrize(
    ("student", "vocabulary"),
    [('word_vectors = "teacher"\n', "words"), ('word_vectors = "random"\n', "pieces")],
)
def test_words_and_pieces_of_the_teacher_are_known_before_it_is_trained(
    tmp_path: Path, toy_csv: Path, tiny_teacher_folder: Path, student: str, vocabulary: str
) -> None:
    recipe = tmp_path / "toy.toml"
    text = (
        f'[corpus]\ntrain = "{toy_csv}"\n[student]\nhidden_size = 4\nembedding_size = 8\n{student}'
        f'[student.vocabulary]\nkind = "{vocabulary}"\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"'
    )
    recipe.write_text(text, encoding="utf-8")

    found = examine(str(recipe), reporter=SilentReporter())

    assert serious(found) == []
    assert {"unknown-words", "size"} <= set(found.checked)


def test_a_transformers_tokens_are_not_known_yet(toy_csv: Path, tmp_path: Path, tiny_teacher_folder: Path) -> None:
    recipe = tmp_path / "toy.toml"
    student = '[student]\nkind = "transformer"\nlayers = 1'
    teacher = f'[teacher]\ncheckpoint = "{tiny_teacher_folder}"'
    recipe.write_text(f'[corpus]\ntrain = "{toy_csv}"\n{student}\n{teacher}', encoding="utf-8")

    found = examine(str(recipe), reporter=SilentReporter())

    assert serious(found) == []
    assert "unknown-words" in found.not_checked


def test_an_unknown_loss_or_tracker_is_a_finding(look: Look, small_student: str, tiny_teacher_folder: Path) -> None:
    losses = (
        '[[distillation.losses]]\nkind = "logit_mse"\n[[distillation.losses]]\nkind = "custom"\ncall = "nowhere:loss"\n'
    )

    found = look(
        f'{small_student}\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"\n{losses}[tracking]\ntrackers = ["soup"]'
    )

    assert [check for check, _ in serious(found)] == ["recipe", "recipe"]


def test_changes_are_made_before_looking(toy_csv: Path, tmp_path: Path, tiny_teacher_folder: Path) -> None:
    recipe = tmp_path / "toy.toml"
    recipe.write_text(
        f'[corpus]\ntrain = "{toy_csv}"\n[teacher]\ncheckpoint = "{tiny_teacher_folder}"', encoding="utf-8"
    )

    found = examine(
        str(recipe), changes=["student.max_length=2", "student.embedding_size=4"], reporter=SilentReporter()
    )

    assert [check for check, _ in serious(found)] == ["student-length"]


def test_without_asking_a_ready_teacher_is_left_alone(toy_csv: Path, tmp_path: Path, tiny_teacher_folder: Path) -> None:
    recipe = tmp_path / "toy.toml"
    text = f'[corpus]\ntrain = "{toy_csv}"\n[teacher]\ntrain = "none"\ncheckpoint = "{tiny_teacher_folder}"'
    recipe.write_text(f"{text}\n[student]\nembedding_size = 4", encoding="utf-8")

    found: Any = examine(str(recipe), asks=False, reporter=SilentReporter())

    assert serious(found) == []
    assert found.not_checked["teacher-chance"] == "asking the teacher is switched off"


def test_a_checkpoint_that_cannot_be_pretrained_is_found(
    look: Look, small_student: str, tiny_teacher_copy: Path
) -> None:
    config = tiny_teacher_copy / "tokenizer_config.json"
    shown = json.loads(config.read_text(encoding="utf-8"))
    config.write_text(json.dumps({**shown, "mask_token": None}), encoding="utf-8")
    tables = f'{small_student}\n[teacher]\ncheckpoint = "{tiny_teacher_copy}"\n'

    assert serious(look(tables)) == []
    ((check, what),) = serious(look(f"{tables}[teacher.pretraining]\n"))

    assert check == "teacher"
    assert "cannot pretrain" in what
