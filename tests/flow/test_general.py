"""General students on the whole road: taught, stopped and continued, and started from by students of a task."""

import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification
from typer.testing import CliRunner

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.general_folder import GeneralFolder
from limbeck.artifacts.run_folder import Run
from limbeck.artifacts.vocabulary_folder import IS_GENERAL, VocabularyFolder
from limbeck.cli.app import app
from limbeck.distillation.new_student import new_student, not_taken_over
from limbeck.distillation.refuse_impossible import GeneralLanguageDiffers
from limbeck.errors import ArtifactDamaged, RecipeInvalid
from limbeck.general.words_task import WordsTask
from limbeck.pipeline import run
from limbeck.pipeline.general import pretrain
from limbeck.progress import SilentReporter
from limbeck.recipe.load import load_recipe
from limbeck.recipe.stages import Stage
from limbeck.recipe.student import Bag, BiLstm, TextCnn
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.training import loop

RECIPE = """
[general]
name = "toy"
encoders = ["{teacher}"]
epochs = {epochs}
batch_size = 32
learning_rate = 1e-2
precision = "fp32"

[transfer]
files = ["text.txt"]

[student]
kind = "{kind}"
embedding_size = 12
{shape}

[student.vocabulary]
min_count = 1
"""
SHAPES = {"bilstm": "hidden_size = 8", "textcnn": "filters = 5\nwindows = [1, 2]", "bag": ""}
SMALL = ["distillation.epochs=1", "export.precisions=['fp32']", "distillation.losses=[{kind='logit_mse'}]"]
Teach = Callable[..., GeneralFolder]


class Notes(SilentReporter):
    """A reporter that keeps every note."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def note(self, text: str, *, style: str = "") -> None:
        del style
        self.texts.append(text)


@pytest.fixture(scope="module")
def teach(
    tiny_teacher_folder: Path, toy_rows: tuple[tuple[str, str], ...], tmp_path_factory: pytest.TempPathFactory
) -> Teach:
    """teach(kind=…, epochs=…, out=…): a general student of the toy texts, whose encoder is the tiny teacher."""

    def teach(*, kind: str = "bilstm", epochs: int = 3, out: Path | None = None, changes: Any = ()) -> GeneralFolder:
        folder = tmp_path_factory.mktemp("general")
        texts = [text for text, _ in toy_rows[:120]]
        (folder / "text.txt").write_text("\n".join([*texts, "a word that rows lack: zebra zebra"]), encoding="utf-8")
        recipe = folder / "toy.toml"
        written = RECIPE.format(teacher=tiny_teacher_folder, epochs=epochs, kind=kind, shape=SHAPES[kind])
        recipe.write_text(written, encoding="utf-8")
        return pretrain(recipe, overrides=changes, out=out or folder / "out", reporter=SilentReporter())

    return teach


@pytest.fixture(scope="module")
def taught(teach: Teach) -> GeneralFolder:
    return teach()


def test_it_comes_nearer_to_the_encoder_and_says_what_it_is(taught: GeneralFolder, tiny_teacher_folder: Path) -> None:
    facts = taught.facts

    assert [epoch["cosine_0"] for epoch in facts.history] == sorted(epoch["cosine_0"] for epoch in facts.history)
    assert facts.shape == {"hidden_size": 8, "layers": 1, "cell": "lstm", "pooling": "max"}
    assert facts.encoders[0]["name"] == tiny_teacher_folder.name
    assert facts.encoders[0]["cosine"] == facts.history[-1]["cosine_0"]
    assert str(tiny_teacher_folder) not in (taught.folder / "general.json").read_text(encoding="utf-8")
    assert f"{facts.words:,} words with vectors of 12 numbers" in (taught.folder / "README.md").read_text(
        encoding="utf-8"
    )
    assert AutoModelForSequenceClassification.from_pretrained(taught.folder).config.hidden_size == 8


def test_the_same_recipe_again_is_reused_and_another_is_not(teach: Teach, tmp_path: Path) -> None:
    first = teach(out=tmp_path / "out")
    history, written = first.facts.history, (first.folder / "general.json").stat().st_mtime_ns

    assert (teach(out=tmp_path / "out").folder / "general.json").stat().st_mtime_ns == written
    assert teach(out=tmp_path / "out", changes=["general.neighbours=0.0"]).facts.history != history


def test_two_processes_teach_what_one_does(teach: Teach) -> None:
    """A loss that compares the sentences of a batch, in batches with an odd number of them."""
    uneven = ["general.batch_size=25", "student.dropout=0.0"]
    alone, together = (teach(changes=[*uneven, f"general.processes={count}"]) for count in (1, 2))

    for one, other in zip(alone.facts.history, together.facts.history, strict=True):
        assert other["losses"] == pytest.approx(one["losses"], rel=1e-4)
        assert other["dev_loss"] == pytest.approx(one["dev_loss"], rel=1e-4)
    assert not list(together.folder.rglob("*together*"))


def test_a_stopped_one_continues_and_ends_with_the_same_weights(
    teach: Teach, taught: GeneralFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    losses, steps = WordsTask.losses, []

    def stopping(task: Any, model: Any, places: Any) -> Any:
        steps.append(len(places))
        if len(steps) == 6:
            raise KeyboardInterrupt
        return losses(task, model, places)

    monkeypatch.setattr(loop, "SECONDS_BETWEEN_CHECKPOINTS", 0.0)
    monkeypatch.setattr(WordsTask, "losses", stopping)
    with pytest.raises(KeyboardInterrupt):
        teach(out=tmp_path / "out")
    monkeypatch.undo()
    assert not (tmp_path / "out" / "toy").exists()
    continued = teach(out=tmp_path / "out")

    assert np.array_equal(continued.vectors(), taught.vectors())
    assert all(np.array_equal(weights, taught.body()[name]) for name, weights in continued.body().items())
    assert continued.facts.history == taught.facts.history


def test_int8_vectors_are_the_same_but_for_rounding(teach: Teach, taught: GeneralFolder) -> None:
    rounded = teach(changes=['general.table="int8"'])

    largest = np.abs(taught.vectors()).max(axis=1, keepdims=True)
    assert (np.abs(rounded.vectors() - taught.vectors()) <= largest / 127 + 2e-3).all()
    assert (rounded.vectors()[0] == 0).all(), "padding"
    smaller = (rounded.folder / "model.safetensors").stat().st_size
    assert smaller < (taught.folder / "model.safetensors").stat().st_size


# ---- students that start from one ----


@pytest.fixture(scope="module")
def finished(
    taught: GeneralFolder, write_recipe: Callable[[Path], Path], tmp_path_factory: pytest.TempPathFactory
) -> tuple[Run, Notes]:
    recipe, notes = write_recipe(tmp_path_factory.mktemp("started") / "data"), Notes()
    start = [f"student.start='{taught.folder}'", "student.vocabulary.general_words=100"]
    out = tmp_path_factory.mktemp("runs") / "toy"
    return run(recipe, overrides=[*SMALL, *start], out=out, reporter=notes), notes


def vocabulary_of(finished: Run) -> VocabularyFolder:
    return VocabularyFolder(finished.folder / "vocabulary")


def student_of(finished: Run, taught: GeneralFolder, section: Any, *, alone: bool = False) -> Any:
    torch.manual_seed(1)
    corpus = Corpus(finished.folder / "corpus")
    return new_student(
        section, alone=alone, vocabulary=vocabulary_of(finished), corpus=corpus, start_from=None, general=taught
    )


def test_its_words_have_its_vectors_and_other_words_mapped_ones(
    finished: tuple[Run, Notes], taught: GeneralFolder
) -> None:
    vocabulary = vocabulary_of(finished[0])
    words, vectors, known = (
        StudentTokenizer.load(vocabulary.tokenizer).vocabulary,
        vocabulary.vectors(),
        vocabulary.array(IS_GENERAL),
    )
    places = {word: place for place, word in enumerate(taught.vocabulary)}

    assert vectors is not None
    assert known is not None
    assert "zebra" in words, "a general word that no row has"
    for word, vector, is_known in zip(words, vectors, known, strict=True):
        assert bool(is_known) == (word in places)
        if is_known:
            assert np.array_equal(vector, taught.vectors()[places[word]])
    notes = "\n".join(finished[1].texts)
    assert f"{int(known.sum())} words have the vectors of the general student toy in {taught.folder}" in notes
    assert "bilstm starts with the body of the general student toy" in notes


def test_its_card_says_what_it_started_from(finished: tuple[Run, Notes]) -> None:
    cards = [(folder / "README.md").read_text(encoding="utf-8") for folder in finished[0].models.values()]

    assert cards
    assert all("It started from the general student `toy`" in card for card in cards)


def test_the_body_is_taken_over_and_the_head_is_new(finished: tuple[Run, Notes], taught: GeneralFolder) -> None:
    section = BiLstm(hidden_size=8, dense_size=8, embedding_size=12, start=str(taught.folder))

    student = student_of(finished[0], taught, section)

    state = student.state_dict()
    assert all(np.array_equal(state[name].numpy(), weights) for name, weights in taught.body().items())
    assert {name.partition(".")[0] for name in taught.body()} == {"levels"}


def test_the_baseline_has_nothing_of_the_teacher(finished: tuple[Run, Notes], taught: GeneralFolder) -> None:
    section = BiLstm(hidden_size=8, dense_size=8, embedding_size=12, start=str(taught.folder), tune_vectors=False)

    distilled, alone = (student_of(finished[0], taught, section, alone=alone) for alone in (False, True))

    known = vocabulary_of(finished[0]).array(IS_GENERAL)
    assert known is not None
    same = (distilled.word_vectors == alone.word_vectors).all(dim=1).numpy()
    assert same[known == 1].all()
    assert np.array_equal(same[known == 0], np.zeros(int((known == 0).sum()), dtype=bool))
    assert not alone.embeddings.weight.requires_grad


@pytest.mark.parametrize(
    ("section", "why"),
    [
        (BiLstm(hidden_size=9, embedding_size=12), "hidden_size = 9, and it has 8"),
        (BiLstm(hidden_size=8, embedding_size=12, pooling="mean"), 'pooling = "mean", and it has "max"'),
        (BiLstm(hidden_size=8, embedding_size=10), "embedding_size = 10, and it has 12"),
        (TextCnn(kind="textcnn"), 'kind = "textcnn", and it is a "bilstm"'),
        (BiLstm(hidden_size=8, embedding_size=300), None),
    ],
)
def test_what_is_not_taken_over_is_named(taught: GeneralFolder, section: Any, why: str | None) -> None:
    assert not_taken_over(section, taught) == ([why] if why else [])


def test_a_bag_takes_its_words_weights_by_the_word(teach: Teach, finished: tuple[Run, Notes]) -> None:
    general = teach(kind="bag", epochs=1)
    section = Bag(kind="bag", embedding_size=12, start=str(general.folder))

    student = student_of(finished[0], general, section)

    words = StudentTokenizer.load(vocabulary_of(finished[0]).tokenizer).vocabulary
    theirs = dict(zip(general.vocabulary, general.body()["word_weights.weight"][:, 0], strict=True))
    found = dict(zip(words, student.word_weights.weight.detach().numpy()[:, 0], strict=True))
    assert {word: found[word] for word in found if word in theirs} == {
        word: theirs[word] for word in found if word in theirs
    }
    assert np.abs(general.body()["word_weights.weight"]).max() > 0


def test_a_text_cnn_can_be_taught_too(teach: Teach) -> None:
    assert teach(kind="textcnn", epochs=1).facts.shape == {"windows": [1, 2], "filters": 5}


def test_another_language_a_damaged_one_and_a_missing_one_are_refused_before_anything_runs(
    taught: GeneralFolder, write_recipe: Callable[[Path], Path], tmp_path: Path
) -> None:
    recipe, other = write_recipe(tmp_path / "data"), Path(shutil.copytree(taught.folder, tmp_path / "other"))
    (other / "tokenizer.json").write_text("{}", encoding="utf-8")
    chinese = [f"student.start='{taught.folder}'", "corpus.language='zh'", "transfer.form=[]"]

    with pytest.raises(GeneralLanguageDiffers, match="knows another language"):
        run(recipe, overrides=chinese, out=tmp_path / "a", reporter=SilentReporter())
    with pytest.raises(ArtifactDamaged, match=r"tokenizer\.json"):
        run(recipe, overrides=[f"student.start='{other}'"], out=tmp_path / "b", reporter=SilentReporter())
    with pytest.raises(RecipeInvalid, match=r"no general student 'general/englich'.*did you mean 'english'"):
        run(recipe, overrides=["student.start='general:englich'"], out=tmp_path / "c", reporter=SilentReporter())
    assert not (tmp_path / "a").exists()


def test_the_one_in_the_package_is_whole_and_small() -> None:
    from limbeck.recipe.files import general_folder, ready_general

    for name in ready_general():
        general = GeneralFolder(general_folder(f"general:{name}"))
        assert general.faults() == []
        assert general.facts.name == name
        assert sum(file.stat().st_size for file in general.folder.iterdir()) < 12e6
    assert ready_general() == ["english"]


def test_the_command_says_what_is_wrong_with_a_recipe(tmp_path: Path) -> None:
    wrong = tmp_path / "wrong.toml"
    wrong.write_text(
        '[general]\nname = "x"\nepoch = 3\n[transfer]\nfiles = ["none.txt"]\nchoice = "nearest"\nrows = 3\n'
    )

    missing, refused = (
        CliRunner().invoke(app, ["pretrain", "englsh"]),
        CliRunner().invoke(app, ["pretrain", str(wrong)]),
    )

    assert (missing.exit_code, refused.exit_code) == (2, 2)
    assert "did you mean 'english'" in missing.stderr
    assert "general.epoch: unknown key (did you mean 'epochs'" in refused.stderr


def test_auto_shares_the_start_with_students_of_words_alone(
    write_recipe: Callable[[Path], Path], tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "data")
    asked = ["student.kind='auto'", "student.start='general:english'", "student.vocabulary.general_words=100"]

    loaded = load_recipe(recipe, overrides=asked).recipe

    starts = {student.kind: getattr(student, "start", None) for student in (loaded.student, *loaded.candidates)}
    assert starts == {"bilstm": "general:english", "ngrams": "fit", "textcnn": "general:english"}


@pytest.mark.parametrize("kind", ["bag", "ngrams", "transformer"])
def test_another_kind_of_student_for_a_draft_drops_a_start_that_it_cannot_have(
    kind: str, write_recipe: Callable[[Path], Path], tmp_path: Path
) -> None:
    recipe = write_recipe(tmp_path / "data")
    table = '[student]\nstart = "general:english"\nvocabulary.general_words = 100\n'
    recipe.write_text(recipe.read_text(encoding="utf-8").replace("[student]\n", table), encoding="utf-8")

    student: Any = load_recipe(recipe, overrides=[f"student.kind={kind}"]).recipe.student

    assert student.start == {"bag": "general:english", "ngrams": "fit", "transformer": "teacher"}[kind]


def test_keys_without_a_use_are_refused_by_name(teach: Teach) -> None:
    with pytest.raises(RecipeInvalid, match=r"has start, word_vectors, vocabulary\.general_words"):
        teach(changes=["student.start=x", "student.word_vectors=random", "student.vocabulary.general_words=3"])
    with pytest.raises(RecipeInvalid, match=r"\[transfer\] has overlap"):
        teach(changes=["transfer.overlap=report"])


def test_little_text_and_text_of_another_language_are_told(tmp_path: Path, tiny_teacher_folder: Path) -> None:
    (tmp_path / "text.txt").write_text("今天的天气非常好\n我们明天再见\n这个词很长\n", encoding="utf-8")
    recipe, notes = tmp_path / "zh.toml", Notes()
    recipe.write_text(RECIPE.format(teacher=tiny_teacher_folder, epochs=1, kind="bag", shape=""), encoding="utf-8")

    pretrain(recipe, out=tmp_path / "out", reporter=notes)

    assert any('the text looks like "zh", and general.language is "en"' in text for text in notes.texts)
    assert any("3 sentences teach little about a language" in text for text in notes.texts)


def test_a_body_that_does_not_fit_is_told_for_each_student(
    taught: GeneralFolder, write_recipe: Callable[[Path], Path], tmp_path: Path
) -> None:
    recipe, notes = write_recipe(tmp_path / "data"), Notes()
    start = [f"student.start='{taught.folder}'", "student.pooling='mean'", "distillation.baseline=false"]

    run(recipe, overrides=[*SMALL, *start], out=tmp_path / "out", until=Stage.DISTILLATION, reporter=notes)

    why = 'as it has pooling = "mean", and it has "max"'
    assert any(
        "bilstm has the words of the general student toy alone, and not its body" in text and why in text
        for text in notes.texts
    )
