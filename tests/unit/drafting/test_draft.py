"""The recipe that `limbeck init` writes."""

import re
import tomllib
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.corpus import read_corpus
from limbeck.drafting import draft, draft_teacher, draft_transfer
from limbeck.drafting.draft import draft_recipe
from limbeck.drafting.draft_teacher import DraftedTeacher, chosen_teacher
from limbeck.drafting.draft_transfer import place
from limbeck.drafting.inspection import Inspection, inspect_file
from limbeck.drafting.unlabelled import look_at_text
from limbeck.progress import SilentReporter
from limbeck.recipe.load import load_recipe, parse_recipe
from limbeck.recipe.recipe import Recipe
from limbeck.recipe.student import BiLstm, Ngrams
from limbeck.recipe.teacher import EncoderTeacher, FileTeacher, LinearTeacher

ENGLISH = [(f"the {word} was quite something today", str(number % 2)) for number, word in enumerate("abcdefgh")]
CHINESE = [
    (f"今天去了第{word}家商店买灯", f"第{word}家商店的灯怎么样", str(n % 2)) for n, word in enumerate("一二三四五六")
]


@pytest.fixture(autouse=True)
def no_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine like a laptop, whatever the tests run on."""
    monkeypatch.setattr(draft, "has_gpu", lambda: False)


@pytest.fixture(autouse=True)
def hub(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine that reaches the hub, unless HF_HUB_OFFLINE is set, which is for tests to say."""
    monkeypatch.delenv("HF_HUB_OFFLINE", raising=False)
    monkeypatch.setattr(draft_teacher, "why_no_hub", lambda: None)


@pytest.fixture
def gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    """A machine with a GPU."""
    monkeypatch.setattr(draft, "has_gpu", lambda: True)


def drafted(inspection: Inspection, data_path: str = "data.tsv") -> Recipe:
    text = draft_recipe(inspection.path, inspection, data_path=data_path)
    return parse_recipe(tomllib.loads(text), recipe="drafted")


def encoder(recipe: Recipe) -> EncoderTeacher:
    assert isinstance(recipe.teacher, EncoderTeacher)
    return recipe.teacher


@pytest.fixture
def english(tmp_path: Path) -> Inspection:
    path = tmp_path / "train.tsv"
    path.write_text("\n".join("\t".join(row) for row in [("sentence", "label"), *ENGLISH]))
    return inspect_file(path)


@pytest.fixture
def chinese_pairs(tmp_path: Path) -> Inspection:
    path = tmp_path / "pairs.txt"
    path.write_text("\n".join("\t".join(row) for row in CHINESE), encoding="utf-8")
    return inspect_file(path)


def test_the_recipe_says_what_it_is_and_how_to_run_it(english: Inspection) -> None:
    lines = draft_recipe(english.path, english, data_path="data.tsv", recipe_path="here/my.toml").splitlines()

    assert lines[0].startswith("# English texts in 2 classes (0, 1)")
    assert lines[1] == "# limbeck run here/my.toml"


def test_the_recipe_loads_and_finds_its_data(english: Inspection, tmp_path: Path) -> None:
    recipe_path = tmp_path / "mine.toml"
    recipe_path.write_text(draft_recipe(english.path, english, data_path="train.tsv"), encoding="utf-8")

    corpus = load_recipe(recipe_path).recipe.corpus

    assert (corpus.train, corpus.text, corpus.label) == (str(english.path), "sentence", "label")
    assert (corpus.header, corpus.pair, corpus.language) == (True, None, "en")


def test_chinese_pairs_without_a_header_get_column_numbers_and_a_chinese_teacher(chinese_pairs: Inspection) -> None:
    recipe = drafted(chinese_pairs)

    assert (recipe.corpus.text, recipe.corpus.pair, recipe.corpus.label, recipe.corpus.header) == (0, 1, 2, False)
    assert recipe.corpus.language == "zh"
    assert encoder(recipe).checkpoint == "bert-base-chinese"


@pytest.mark.parametrize(
    ("installed", "checkpoint"),
    [(True, "all-MiniLM-L6-v2"), (False, "sentence-transformers/all-mpnet-base-v2")],
)
def test_the_offline_encoder_is_used_where_it_is_installed(
    english: Inspection, monkeypatch: pytest.MonkeyPatch, installed: bool, checkpoint: str
) -> None:
    monkeypatch.setattr(draft_teacher, "find_spec", lambda _: object() if installed else None)

    assert encoder(drafted(english)).checkpoint == checkpoint


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("offline", "checkpoint"), [("1", "all-MiniLM-L6-v2"), ("0", "all-mpnet-base-v2")])
def test_with_a_gpu_the_offline_encoder_is_used_only_where_the_hub_is_shut(
    english: Inspection, monkeypatch: pytest.MonkeyPatch, offline: str, checkpoint: str
) -> None:
    monkeypatch.setattr(draft_teacher, "find_spec", lambda _: object())
    monkeypatch.setenv("HF_HUB_OFFLINE", offline)

    assert encoder(drafted(english)).checkpoint.endswith(checkpoint)


def settings(recipe: Recipe) -> tuple[object, ...]:
    """What differs with a GPU."""
    assert isinstance(recipe.student, BiLstm)
    student, training = recipe.student, recipe.distillation
    return student.hidden_size, student.tune_vectors, training.epochs, training.batch_size, training.seeds


def test_a_laptop_gets_a_small_student(english: Inspection) -> None:
    student, tuned, _epochs, _batch, seeds = settings(drafted(replace(english, rows=20_000)))

    assert (student, tuned, seeds) == (150, False, [0])


@pytest.mark.parametrize(("rows", "words", "batch_size"), [(300, 10, 32), (3_000, 10, 64), (200_000, 20, 128)])
def test_few_rows_make_enough_steps(
    english: Inspection, monkeypatch: pytest.MonkeyPatch, rows: int, words: int, batch_size: int
) -> None:
    monkeypatch.setattr(draft_transfer, "_has_general_text", lambda: False)
    recipe = drafted(replace(english, rows=rows, median_words=words, long_words=words))
    training, copies = recipe.distillation, recipe.augmentation.copies if recipe.augmentation else 0
    read = rows * (1 + copies)

    assert training.batch_size == batch_size
    assert (training.keep, training.patience) == ("latest", None)
    assert read * training.epochs // training.batch_size >= 2_000


@pytest.mark.parametrize(("rows", "epochs"), [(300, 200), (1_000, 96), (3_000, 40), (10_000, 14), (50_000, 5)])
def test_the_student_alone_reads_few_rows_more_often(english: Inspection, rows: int, epochs: int) -> None:
    recipe = drafted(replace(english, rows=rows, median_words=10, long_words=10))

    assert recipe.distillation.baseline_epochs == epochs


@pytest.mark.parametrize(("rows", "epochs"), [(300, 200), (7_000, 13), (8_000, None), (50_000, None)])
def test_with_a_gpu_the_student_alone_never_has_fewer_epochs_than_the_student(
    english: Inspection, monkeypatch: pytest.MonkeyPatch, rows: int, epochs: int | None
) -> None:
    monkeypatch.setattr("limbeck.drafting.draft.has_gpu", lambda: True)
    training = drafted(replace(english, rows=rows, median_words=10, long_words=10)).distillation

    assert training.baseline_epochs == epochs
    assert (training.baseline_epochs or training.epochs) >= training.epochs


@pytest.mark.parametrize("rows", [300, 3_000, 10_000, 20_000, 60_000, 200_000])
@pytest.mark.parametrize("words", [5, 20, 60, 300])
def test_without_a_gpu_a_draft_takes_minutes(english: Inspection, rows: int, words: int) -> None:
    recipe = drafted(replace(english, rows=rows, median_words=words, long_words=words))
    teacher, training, tokens = encoder(recipe), recipe.distillation, 1.4 * words + 2
    copies = recipe.augmentation.copies if recipe.augmentation else 0

    assert min(rows, teacher.max_rows or rows) * teacher.epochs * tokens <= 1_201_000 or teacher.max_rows == 2
    assert rows * copies <= 40_000
    assert rows * copies * tokens <= 1_610_000
    assert training.epochs == 4 or rows * (1 + copies) * training.epochs * words <= 7_000_000


@pytest.mark.parametrize(("rows", "epochs", "most"), [(500, 5, None), (20_000, 2, None), (60_000, 1, 40_000)])
def test_a_teacher_of_single_texts_starts_from_a_fitted_head(
    english: Inspection, rows: int, epochs: int, most: int | None
) -> None:
    teacher = encoder(drafted(replace(english, rows=rows, median_words=20, long_words=20)))

    assert (teacher.head, teacher.epochs, teacher.max_rows) == ("mean", epochs, most)


def test_a_teacher_of_pairs_has_its_own_head(chinese_pairs: Inspection) -> None:
    assert encoder(drafted(chinese_pairs)).head == "own"


@pytest.mark.parametrize(
    ("changed", "loss"),
    [
        ({"rows": 500}, "soft_targets"),
        ({"rows": 20_000}, "logit_mse"),
        ({"rows": 20_000, "labels": {"a": 3, "b": 3, "c": 2}}, "soft_targets"),
        ({"rows": 500, "multi_label": True}, "logit_mse"),
    ],
)
def test_logits_are_learned_where_they_were_better(english: Inspection, changed: dict[str, Any], loss: str) -> None:
    assert [one.kind for one in drafted(replace(english, **changed)).distillation.losses] == [loss]


@pytest.mark.usefixtures("gpu")
def test_a_gpu_gets_the_settings_that_won(english: Inspection) -> None:
    assert settings(drafted(replace(english, rows=20_000))) == (300, False, 12, 256, [0, 1, 2])


@pytest.mark.parametrize(("rows", "times"), [(300, 3), (4_000, 3), (6_000, 2), (20_000, 1)])
def test_a_small_teacher_of_few_rows_is_the_mean_of_several_fine_tunings(
    english: Inspection, monkeypatch: pytest.MonkeyPatch, rows: int, times: int
) -> None:
    found = replace(english, rows=rows, median_words=8, long_words=20)
    large = DraftedTeacher("sentence-transformers/all-mpnet-base-v2")

    monkeypatch.setattr(draft, "chosen_teacher", lambda *_, **__: DraftedTeacher("all-MiniLM-L6-v2", is_small=True))
    small = encoder(drafted(found))
    monkeypatch.setattr(draft, "chosen_teacher", lambda *_, **__: large)

    assert small.fine_tunings == times
    assert encoder(drafted(found)).fine_tunings == 1


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("median_words", "hidden_size", "epochs"), [(170, 150, 6), (12, 300, 12)])
def test_documents_get_the_settings_of_documents_where_they_are_half_of_the_texts(
    english: Inspection, median_words: int, hidden_size: int, epochs: int
) -> None:
    recipe = drafted(replace(english, rows=60_000, median_words=median_words, long_words=500))

    assert settings(recipe) == (hidden_size, False, epochs, 256, [0, 1, 2])
    assert encoder(recipe).long_texts == "head_and_tail"


@pytest.mark.usefixtures("gpu")
def test_sentences_of_documents_are_lessons_too(english: Inspection) -> None:
    documents = replace(english, median_words=170, long_words=500, has_quotes=True)

    transfer = drafted(documents, data_path="some/train.tsv").transfer

    assert transfer is not None
    assert (transfer.files, transfer.text, transfer.quoting) == (["some/train.tsv"], "sentence", False)
    assert (transfer.split_sentences, transfer.min_words, transfer.max_words) == (True, 4, 60)
    assert drafted(replace(documents, median_words=12)).transfer is None
    assert drafted(replace(documents, language="zh")).transfer is None


def test_without_a_gpu_there_are_no_more_lessons_than_asked_for(english: Inspection) -> None:
    assert drafted(replace(english, median_words=170, long_words=500)).transfer is None


def test_of_sentences_nothing_is_cut_out(english: Inspection) -> None:
    assert encoder(drafted(english)).long_texts == "head"


@pytest.mark.usefixtures("gpu")
def test_pairs_get_the_settings_of_the_recipes_for_pairs(chinese_pairs: Inspection) -> None:
    assert settings(drafted(chinese_pairs)) == (150, True, 8, 128, [0, 1, 2])


@pytest.fixture
def english_pairs(tmp_path: Path) -> Inspection:
    path = tmp_path / "pairs.csv"
    rows = [
        f"is the {word} a friend,are {word}s friends of ours,{number % 2}" for number, word in enumerate("abcdefgh")
    ]
    path.write_text("\n".join(["question1,question2,label", *rows]))
    return inspect_file(path)


@pytest.mark.parametrize(("words", "length"), [(200, 256), (300, 384), (1_490, 1_920), (90_000, 4_096)])
def test_n_grams_read_whole_documents_as_tf_idf_does(english: Inspection, words: int, length: int) -> None:
    """The words at the 95th percentile, and a quarter more for signs, in steps of 64; 256 is the default of n-grams."""
    (student,) = drafted(replace(english, rows=1_000, median_words=words, long_words=words)).candidates

    assert isinstance(student, Ngrams)
    assert student.max_length == length


def test_pairs_are_compared_word_by_word_and_have_copies_also_without_a_gpu(
    chinese_pairs: Inspection, english_pairs: Inspection
) -> None:
    for found, start in ((chinese_pairs, "random"), (english_pairs, "general:english")):
        recipe = drafted(found)

        assert isinstance(recipe.student, BiLstm)
        assert (recipe.student.pairing, recipe.student.start) == ("attend", start)
        assert recipe.student.tune_vectors
        assert [student.kind for student in recipe.candidates] == ["bag", "ngrams"]
        assert recipe.augmentation is not None
        assert recipe.augmentation.methods[0].kind == "pairing"


@pytest.mark.usefixtures("gpu")
def test_on_a_gpu_pairs_are_compared_too_and_start_from_the_teacher(english_pairs: Inspection) -> None:
    student = drafted(english_pairs).student

    assert isinstance(student, BiLstm)
    assert (student.pairing, student.start, student.word_vectors) == ("attend", "random", "teacher")


def many_words(recipe: Recipe) -> tuple[int | None, int, int]:
    assert isinstance(recipe.student, BiLstm)
    return recipe.student.vector_rank, recipe.student.vocabulary.max_size, recipe.student.vocabulary.min_count


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({}, (128, 100_000, 1)),
        ({"labels": {"a": 3, "b": 3, "c": 2}}, (128, 100_000, 1)),
        ({"median_words": 40, "long_words": 400}, (128, 100_000, 1)),
        ({"median_words": 41}, (None, 30_000, 2)),
        ({"language": "en"}, (None, 30_000, 2)),
    ],
)
def test_chinese_texts_as_short_as_headlines_get_their_many_words(
    english: Inspection, changed: dict[str, Any], words: tuple[int | None, int, int]
) -> None:
    recipe = drafted(replace(english, **{"language": "zh", "beside": {}, **changed}))

    assert many_words(recipe) == words


def test_without_a_gpu_they_have_the_usual_ones(english: Inspection) -> None:
    recipe = drafted(replace(english, language="zh", labels={"a": 3, "b": 3, "c": 2}))

    assert many_words(recipe) == (None, 30_000, 2)


@pytest.mark.usefixtures("gpu")
@pytest.mark.parametrize(("rows", "batch_size"), [(40_000, 256), (49_992, 512)])
def test_batches_are_larger_where_train_and_unlabelled_text_have_many_rows(
    english: Inspection, tmp_path: Path, rows: int, batch_size: int
) -> None:
    (tmp_path / "more.txt").write_text("one text\nand another\n")
    more = replace(look_at_text([tmp_path / "more.txt"], english), rows=rows)

    text = draft_recipe(english.path, english, data_path="data.tsv", transfer=more)

    recipe = parse_recipe(tomllib.loads(text), recipe="drafted")
    assert recipe.distillation.batch_size == batch_size  # the labelled rows are 8


@pytest.mark.parametrize("fixture", ["english", "chinese_pairs"])
def test_the_transfer_block_is_valid_once_its_comment_signs_are_gone(
    fixture: str, request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_transfer, "_has_general_text", lambda: False)
    found = request.getfixturevalue(fixture)
    text = draft_recipe(found.path, found, data_path="data.tsv")
    start = text.index("# [transfer]")
    block = text[start : text.index("\n\n", start)]

    uncommented = text.replace(block, re.sub(r"^# ", "", block, flags=re.MULTILINE))

    transfer = parse_recipe(tomllib.loads(uncommented), recipe="drafted").transfer
    assert transfer is not None
    assert (transfer.pair is None) == (found.pair is None)


def test_the_label_names_line_is_valid_once_its_comment_sign_is_gone(english: Inspection) -> None:
    text = draft_recipe(english.path, english, data_path="data.tsv").replace("# label_names", "label_names")

    names = parse_recipe(tomllib.loads(text), recipe="drafted").corpus.label_names

    assert list(names) == ["0", "1"]


@pytest.mark.parametrize(("words", "length"), [(5, 32), (26, 48), (100, 144), (593, 512)])
def test_the_longest_input_follows_the_texts_within_bounds(english: Inspection, words: int, length: int) -> None:
    recipe = drafted(replace(english, long_words=words))

    assert encoder(recipe).max_length == recipe.student.max_length == length


def test_files_beside_train_become_dev_and_test(english: Inspection) -> None:
    found = replace(english, beside={"dev": "dev.tsv", "test": "test.tsv"})

    corpus = drafted(found, data_path="some/folder/train.tsv").corpus

    assert (corpus.dev, corpus.test) == ("some/folder/dev.tsv", "some/folder/test.tsv")


def test_files_are_named_by_their_paths_from_the_recipe(english: Inspection, tmp_path: Path) -> None:
    found = replace(english, given={"test": tmp_path / "held" / "mine.tsv"})
    recipe, far = tmp_path / "recipes", tmp_path / "a" / "b" / "c"

    near = draft_recipe(found.path, found, data_path=place(found.path, folder=recipe), folder=recipe)
    corpus = parse_recipe(tomllib.loads(near), recipe="drafted").corpus

    assert (corpus.train, corpus.test) == ("../train.tsv", "../held/mine.tsv")
    assert place(tmp_path / "train.tsv", folder=tmp_path) == "train.tsv"
    assert place(tmp_path / "train.tsv", folder=far) == str(tmp_path / "train.tsv"), "three steps up are far"
    assert place(tmp_path / "train.tsv", folder=Path("/")) == str(tmp_path / "train.tsv").removeprefix("/")
    assert place(tmp_path / "train.tsv", folder=Path("/somewhere")) == str(tmp_path / "train.tsv")


@pytest.mark.parametrize("with_gpu", [False, True])
def test_answers_in_the_file_are_the_teacher(
    english: Inspection, monkeypatch: pytest.MonkeyPatch, with_gpu: bool
) -> None:
    monkeypatch.setattr(draft, "has_gpu", lambda: with_gpu)
    found = replace(english, scores={"0": "p_0", "1": "p_1"}, form=replace(english.form, encoding="latin-1"))

    recipe = drafted(found, data_path="data/train.tsv")

    assert isinstance(recipe.teacher, FileTeacher)
    assert (recipe.teacher.path, recipe.teacher.text) == ("data/train.tsv", "sentence")
    assert recipe.teacher.columns == {"0": "p_0", "1": "p_1"}
    assert (recipe.teacher.encoding, recipe.teacher.uncovered) == ("latin-1", "skip")
    assert recipe.transfer is None
    assert recipe.augmentation is None
    assert isinstance(recipe.student, BiLstm)
    assert recipe.student.word_vectors == "random"
    assert recipe.student.start == ("random" if with_gpu else "general:english")
    assert recipe.student.tune_vectors is with_gpu


def test_unlabelled_text_needs_a_teacher_that_can_be_asked(english: Inspection, tmp_path: Path) -> None:
    (tmp_path / "more.txt").write_text("one more text\nand another one\n", encoding="utf-8")
    found = replace(english, scores={"0": "p_0", "1": "p_1"})

    text = draft_recipe(found.path, found, data_path="train.tsv", transfer=look_at_text([tmp_path / "more.txt"], found))

    assert isinstance(parse_recipe(tomllib.loads(text), recipe="drafted").teacher, EncoderTeacher)


def german(tmp_path: Path) -> Inspection:
    path = tmp_path / "deutsch.tsv"
    rows = [f"die {word} war nicht gut, und ich bin nicht froh\t{n % 2}" for n, word in enumerate("abcdefgh")]
    path.write_text("\n".join(["satz\tlabel", *rows]), encoding="utf-8")
    return inspect_file(path)


def test_german_texts_are_not_called_english(tmp_path: Path) -> None:
    found = german(tmp_path)

    text = draft_recipe(found.path, found, data_path="deutsch.tsv")

    assert text.startswith("# German texts in 2 classes")
    assert drafted(found).corpus.language == "de"
    assert 'language: German, read by the rules of "de"' in found.summary()


def test_german_texts_have_a_multilingual_teacher_a_small_one_without_a_gpu(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(draft_teacher, "find_spec", lambda _: object())  # the English one is installed
    found = german(tmp_path)

    assert encoder(drafted(found)).checkpoint == draft_teacher.SMALL_MULTILINGUAL
    monkeypatch.setattr(draft, "has_gpu", lambda: True)
    assert encoder(drafted(found)).checkpoint == draft_teacher.MULTILINGUAL


def no_hub(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(draft_teacher, "why_no_hub", lambda: "no answer from the hub")


@pytest.mark.parametrize("language", ["German", "Chinese pairs"])
def test_without_an_encoder_for_the_language_the_teacher_is_linear_and_the_draft_says_why(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, chinese_pairs: Inspection, language: str
) -> None:
    no_hub(monkeypatch)
    monkeypatch.setattr(draft_teacher, "find_spec", lambda _: object())
    found = german(tmp_path) if language == "German" else chinese_pairs

    recipe = drafted(found)

    assert isinstance(recipe.teacher, LinearTeacher)
    assert isinstance(recipe.student, BiLstm)
    assert recipe.student.word_vectors == "random"
    text = draft_recipe(found.path, found, data_path="data.tsv")
    assert f"No encoder for {found.language_name} texts is at hand" in text
    note = chosen_teacher(found, gpu=False).note(found)
    assert "no answer from the hub" in note
    assert found.language_name in note


def test_without_the_hub_english_texts_have_the_package_also_with_a_gpu(
    english: Inspection, monkeypatch: pytest.MonkeyPatch, gpu: None
) -> None:
    del gpu
    no_hub(monkeypatch)
    monkeypatch.setattr(draft_teacher, "find_spec", lambda _: object())

    assert encoder(drafted(english)).checkpoint == draft_teacher.OFFLINE_CHECKPOINT
    assert chosen_teacher(english, gpu=True).note(english) == ""


def test_what_was_fetched_before_needs_no_hub(
    chinese_pairs: Inspection, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    no_hub(monkeypatch)
    monkeypatch.setattr("huggingface_hub.try_to_load_from_cache", lambda *_: str(tmp_path / "config.json"))

    assert encoder(drafted(chinese_pairs)).checkpoint == "bert-base-chinese"


def test_quoting_format_and_encoding_are_written_where_the_name_does_not_say_them(english: Inspection) -> None:
    form = replace(english.form, format="csv", quoting=False, encoding="gb18030")

    corpus = drafted(replace(english, form=form, format="csv")).corpus

    assert (corpus.format, corpus.quoting, corpus.encoding) == ("csv", False, "gb18030")


def test_stray_quotes_in_tsv_are_said_to_be_plain_characters(english: Inspection) -> None:
    assert drafted(replace(english, has_quotes=True)).corpus.quoting is False


def test_odd_names_cannot_break_the_recipe(english: Inspection) -> None:
    odd = 'a "b"\n\x07[c] = \\'
    found = replace(english, text=odd, label="#\x7f", labels={odd: 3, "\u2028": 1})

    corpus = drafted(found, data_path="C:\\data\\new.tsv").corpus

    assert (corpus.text, corpus.label, corpus.train) == (odd, "#\x7f", "C:\\data\\new.tsv")


def several(folder: Path, *lines: str) -> Inspection:
    path = folder / "train.tsv"
    path.write_text("\n".join(lines))
    return inspect_file(path)


def test_labels_between_separators_get_their_keys(tmp_path: Path) -> None:
    cells = ["food;price", "food", "price", ""]

    found = several(tmp_path, "text\tlabels", *(f"some text {n}\t{cells[n % 4]}" for n in range(40)))

    corpus = drafted(found).corpus
    assert (corpus.label, corpus.multi_label, corpus.label_separator) == ("labels", True, ";")


@pytest.mark.parametrize(("shift", "multi_label"), [(1, False), (0, True)])
def test_a_column_for_each_class_gets_a_list_and_a_remark(tmp_path: Path, shift: int, multi_label: bool) -> None:
    rows = (f"some text {n}\t{int(n % 3 == 0)}\t{int(n % 3 == shift)}\t{int(n % 3 == 2)}" for n in range(40))

    found = several(tmp_path, "text\tbig\tred\told", *rows)

    corpus = drafted(found).corpus
    assert (corpus.label, corpus.multi_label) == (["big", "red", "old"], multi_label)
    assert ("0.5 or more" in draft_recipe(found.path, found, data_path="data.tsv")) == multi_label


@pytest.mark.parametrize(
    "rows",
    [
        [("text\tlabels"), *(f"some text {n}\t{['a|b', 'a', 'b', ''][n % 4]}" for n in range(40))],
        [("text\ttoxic\trude"), *(f"some text {n}\t{n % 2}\t{int(n % 3 == 0)}" for n in range(40))],
        [("text\tlabels"), *(f"some text {n}\t{[['a', 'b'], ['a'], ['b'], []][n % 4]}" for n in range(40))],
        [
            ("text\tsplit\tprobability_b\tprobability_a"),
            *(f"some text {n}\ttrain\t{n / 40}\t{1 - n / 40}" for n in range(40)),
        ],
        [
            ("text\tbig\tred\told"),
            *("\t".join([f"some text {n}", *("yes" if n % k == 0 else "no" for k in (2, 3, 4))]) for n in range(40)),
        ],
        [("text\tleft\tright"), *(f"some text {n}\t{n / 40}\t{1 - n / 40}" for n in range(40))],
    ],
)
def test_the_drafted_corpus_can_be_read(tmp_path: Path, rows: list[str]) -> None:
    found = several(tmp_path, *rows)
    section = drafted(found, data_path=str(found.path)).corpus

    corpus = read_corpus(
        section, out=tmp_path / "corpus", key=Key(section={}, inputs={}), reporter=SilentReporter(), name="toy"
    )

    assert corpus.labels == list(found.labels)
    assert corpus.facts["rows"] == {"train": 36, "dev": 4}


def test_uneven_classes_get_weights_behind_a_comment_sign(english: Inspection) -> None:
    found = replace(english, labels={"0": 300, "1": 20})

    text = draft_recipe(found.path, found, data_path="data.tsv")

    uncommented = parse_recipe(tomllib.loads(text.replace("# class_weights", "class_weights")), recipe="drafted")
    assert (drafted(found).corpus.class_weights, uncommented.corpus.class_weights) == ("none", "balanced")
    assert "class_weights" not in draft_recipe(english.path, english, data_path="data.tsv")


@pytest.mark.parametrize(
    ("labels", "weights"),
    [
        ({"0": 961, "1": 39}, {"1": 5.0}),  # less than one in twenty: √(961 / 39), about
        ({"0": 950, "1": 50}, "none"),
        ({"0": 481, "1": 480, "2": 39}, "none"),  # of three classes: behind a comment sign
    ],
)
def test_two_classes_that_are_very_uneven_get_weights(
    english: Inspection, labels: dict[str, int], weights: object
) -> None:
    assert drafted(replace(english, labels=labels)).corpus.class_weights == weights


def test_an_export_of_labels_gets_the_names_of_its_classes(tmp_path: Path) -> None:
    rows = (f"some text {n}\ttrain\t{n / 40}\t{n / 50}" for n in range(40))

    corpus = drafted(several(tmp_path, "text\tsplit\tprobability_a b\tprobability_no", *rows)).corpus

    assert (corpus.label, corpus.multi_label) == (["probability_a b", "probability_no"], True)
    assert corpus.label_names == {"probability_a b": "a b", "probability_no": "no"}
