"""Explanations: the parts of a text, and what each of them moved."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
import torch

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFacts, StudentFolder, save_student_facts
from limbeck.errors import ArtifactDamaged
from limbeck.export import export_student
from limbeck.models.students import word_student
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export
from limbeck.recipe.student import Bag, Ngrams
from limbeck.runtime.classifier import Classifier, load
from limbeck.runtime.engine import EngineChoice, Logits
from limbeck.runtime.explain import FEWEST_ROWS, MOST_ROWS, Explanation, explanation
from limbeck.runtime.row import Row
from limbeck.text.ngrams import NgramSettings
from limbeck.text.student_tokenizer import StudentTokenizer
from limbeck.text.word_tokenizer import build_word_tokenizer
from limbeck.training.modes import quiet_transformers
from tests.unit.runtime.test_blend import blend_of

Kind = Literal["bag", "ngrams"]
MakeLinear = Callable[..., Path]
LABELS = ["negative", "neutral", "positive"]
ENGLISH = [
    "A gorgeous, dreadful film about the sea. Don't miss it!",
    "café 😀 naïve story at the lake",
    "film film film",
]
CHINESE = ["这部电影拍得真好看，看完久久不能忘怀。", "电池两天就坏了，客服一直不回复。"]
TEXTS = [
    *ENGLISH,
    *CHINESE,
    "  GORGEOUS film\t\n(the same, THE SAME)  ",
    "cafe\u0301 film 👨‍👩‍👧‍👦 👩🏽‍🚀 🏳️‍🌈 🇩🇪🇫🇷 story",
    "ＦＩＬＭ ㎞ ½ x½ ﬁlm İstanbul ΣΑΣ Straße",
    "Don't. can't (gorgeous)... film!!! [MASK] [PAD] [UNK]",
    "",
    "   ",
    "zzzz qqqq",
]


@pytest.fixture(scope="module")
def make_linear(tmp_path_factory: pytest.TempPathFactory) -> MakeLinear:
    """make_linear(kind, precision="fp32", …): an exported bag or student of n-grams with strong weights, made once."""
    made: dict[str, Path] = {}

    def make(kind: Kind, **options: Any) -> Path:
        name = repr((kind, sorted(options.items())))
        if name not in made:
            made[name] = _exported(tmp_path_factory.mktemp(kind), kind, **options)
        return made[name]

    return make


def _exported(
    folder: Path,
    kind: Kind,
    *,
    precision: Literal["fp32", "int8"] = "fp32",
    language: str = "en",
    form: tuple[Any, ...] = (),
    dense_size: int = 0,
    word_weights: bool = True,
    labels: list[str] = LABELS,
    pair: bool = False,
    multi_label: bool = False,
) -> Path:
    tokenizer = _tokenizer(kind, language=language, form=form)
    own = {"word_weights": word_weights} if kind == "bag" else {}
    section = (Bag if kind == "bag" else Ngrams).model_validate({"kind": kind, "dense_size": dense_size, **own})
    torch.manual_seed(1)
    network = word_student(
        section,
        vocabulary_size=len(tokenizer),
        embedding_size=8,
        labels=labels,
        pair=pair,
        problem_type="multi_label_classification" if multi_label else None,
    )
    with torch.no_grad():
        for parameter in network.parameters():
            parameter.add_(torch.randn_like(parameter))
    sizes: dict[str, Any] = {"max_length": 40, "parameters": 1_000, "parameters_without_embeddings": 500}
    facts = StudentFacts(
        name=kind, kind=kind, role="student", seed=0, labels=labels, language=language, pair=pair,
        best_epoch=1, dev_accuracy=0.5, multi_label=multi_label, **sizes,
    )  # fmt: skip
    quiet_transformers()
    with written_atomically(folder / "student", kind="student", key=Key(section={}, inputs={})) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        save_student_facts(scratch, facts, history=[])
    texts = [*ENGLISH, *CHINESE]
    return export_student(
        Export(),
        student=StudentFolder(folder / "student"),
        rows=Rows.of(ids=texts, texts=texts, pairs=texts[::-1] if pair else None),
        precision=precision,
        out=folder / "model",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    ).folder


def _tokenizer(kind: Kind, *, language: str, form: tuple[Any, ...]) -> StudentTokenizer:
    if kind == "ngrams":
        return StudentTokenizer(NgramSettings(buckets=500, words=3, form=form).to_json())
    texts = CHINESE if language == "zh" else ENGLISH
    return build_word_tokenizer(texts, language=language, max_size=300, min_count=1, lowercase=True, form=form)


class Watched:
    """A classifier that seems to come from another folder, and notes how many rows it is asked for."""

    def __init__(self, classifier: Classifier, folder: Path, **facts: Any) -> None:
        self.folder, self.facts = folder, replace(classifier.facts, **facts)
        self.asked: list[int] = []
        self._classifier = classifier

    def logits(self, rows: Iterable[Row]) -> Logits:
        """Those of the classifier."""
        given = list(rows)
        self.asked.append(len(given))
        return self._classifier.logits(given)


def joined(found: Explanation) -> str:
    return "".join(piece for piece, _ in found.pieces)


def margin_of(classifier: Classifier, row: Row, label: str) -> float:
    """Written down once more: the label's logit minus the mean of the others."""
    logits, number = classifier.logits([row])[0].astype(float), classifier.labels.index(label)
    return float(logits[number] - np.delete(logits, number).mean())


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize(
    ("kind", "options"),
    [
        ("bag", {}),
        ("bag", {"word_weights": False}),
        ("bag", {"form": ("narrow", "lowercase", "spaced")}),
        ("bag", {"language": "zh"}),
        ("ngrams", {}),
        ("ngrams", {"form": ("narrow", "narrow_marks", "lowercase", "spaced")}),
        ("ngrams", {"labels": ["no", "yes"]}),
    ],
)
def test_the_pieces_of_a_linear_model_sum_to_the_margin(
    make_linear: MakeLinear, engine: EngineChoice, kind: Kind, options: dict[str, Any], precision: str
) -> None:
    model = load(make_linear(kind, precision=precision, **options), engine=engine)

    for text, found in zip(TEXTS, model.explain(TEXTS), strict=True):
        assert found.method == "exact", text
        assert joined(found) == text
        assert found.margin == pytest.approx(margin_of(model, text, found.label), abs=1e-4)
        assert sum(number for _, number in found.pieces) + found.base == pytest.approx(found.margin, abs=1e-4)


@pytest.mark.parametrize("kind", ["bag", "ngrams"])
def test_what_the_words_leave_is_what_the_classes_start_with(make_linear: MakeLinear, kind: Kind) -> None:
    """The bias, for every text with a word; so the sum is the margin minus the bias."""
    model = load(make_linear(kind))

    bases = [explanation(model, text, label="neutral").base for text in TEXTS if text.strip()]

    assert np.ptp(bases) < 1e-4


@pytest.mark.parametrize(("kind", "multi_label"), [("bag", False), ("ngrams", False), ("bag", True)])
def test_any_label_can_be_asked_about(make_linear: MakeLinear, kind: Kind, multi_label: bool) -> None:
    model = load(make_linear(kind, multi_label=multi_label))
    logits = model.logits(TEXTS[:1])[0]

    found = [explanation(model, TEXTS[0], label=label) for label in LABELS]
    default = explanation(model, TEXTS[0])

    assert [one.label for one in found] == LABELS
    assert default == found[int(logits.argmax())]
    if multi_label:
        np.testing.assert_allclose([one.margin for one in found], logits, atol=1e-5)
    else:
        assert sum(one.margin for one in found) == pytest.approx(0.0, abs=1e-4)
    with pytest.raises(ValueError, match="has no label 'other'"):
        explanation(model, TEXTS[0], label="other")


def test_white_space_has_nothing_and_words_stand_alone(make_linear: MakeLinear) -> None:
    found = explanation(load(make_linear("bag")), " A gorgeous,  film")

    assert [piece for piece, _ in found.pieces] == [" ", "A", " ", "gorgeous", ",", "  ", "film"]
    assert [number == 0.0 for _, number in found.pieces] == [True, False, True, False, False, True, False]


@pytest.mark.parametrize(
    ("text", "pieces"),
    [
        ("ok-ish (film)", ["ok", "-", "ish", " ", "(", "film", ")"]),
        ("cafe\u0301, 👨‍👩‍👧 x", ["cafe\u0301", ",", " ", "👨‍👩‍👧", " ", "x"]),
        ("看电影 ＦＩＬＭ！", ["看", "电", "影", " ", "ＦＩＬＭ", "！"]),
        ("🇩🇪🇫🇷 ½x ok", ["🇩🇪🇫🇷", " ", "½x", " ", "ok"]),
    ],
)
@pytest.mark.parametrize("form", [(), ("narrow", "lowercase", "spaced")])
def test_words_of_ngrams_are_found_in_any_script(
    make_linear: MakeLinear, text: str, pieces: list[str], form: tuple[str, ...]
) -> None:
    found = explanation(load(make_linear("ngrams", form=form)), text)

    assert [piece for piece, _ in found.pieces] == pieces


def test_chinese_words_are_those_of_the_tokenizer(make_linear: MakeLinear) -> None:
    found = explanation(load(make_linear("bag", language="zh")), "这部电影真好看😀。")

    assert [piece for piece, _ in found.pieces] == ["这部", "电影", "真", "好看", "😀", "。"]


def test_a_word_that_occurs_twice_has_half_of_its_ngrams_at_each_place(make_linear: MakeLinear) -> None:
    model = load(make_linear("ngrams"))

    one, _, other = explanation(model, "film film").pieces

    assert one[1] == pytest.approx(other[1], abs=1e-9)


@pytest.mark.parametrize("options", [{"dense_size": 6}, {"dense_size": 6, "pair": True}, {"pair": True}])
@pytest.mark.parametrize("kind", ["bag", "ngrams"])
def test_other_networks_are_explained_by_leaving_words_out(
    make_linear: MakeLinear, engine: EngineChoice, kind: Kind, options: dict[str, Any]
) -> None:
    model = load(make_linear(kind, **options), engine=engine)
    row = ("gorgeous film", "story sea") if model.facts.pair else "gorgeous film"
    without = ("film", "story sea") if model.facts.pair else "film"

    found = explanation(model, row)

    expected = margin_of(model, row, found.label) - margin_of(model, without, found.label)
    assert found.method == "leaving out"
    assert found.pieces[0][0] == "gorgeous"
    assert found.pieces[0][1] == pytest.approx(expected, abs=1e-4)
    assert found.pieces[1] == (" ", 0.0)


def test_each_text_of_a_pair_has_its_pieces(pair_model_folder: Path) -> None:
    found = explanation(load(pair_model_folder), (" gorgeous evening", "long road "))

    assert joined(found) == " gorgeous evening"
    assert [piece for piece, _ in found.pair_pieces or []] == ["long", " ", "road", " "]
    assert list(found.to_json()) == ["text", "pair"]


@pytest.mark.parametrize("folder", ["model_folder", "framed_folder", "multi_label_folder", "framed_multi_label_folder"])
def test_every_text_can_be_explained(
    request: pytest.FixtureRequest, folder: str, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    """Whatever is in it and however long it is: its pieces join to it, and are not too many to ask about."""
    model = load(request.getfixturevalue(folder))
    texts = {**odd_texts, **half_texts, **dict(zip(TEXTS, TEXTS, strict=True))}

    for name, text in texts.items():
        found = explanation(model, text)

        assert joined(found) == text, name
        assert sum(number != 0.0 for _, number in found.pieces) <= MOST_ROWS, name
        assert all(np.isfinite(number) for _, number in found.pieces), name


@pytest.mark.parametrize("kind", ["bag", "ngrams"])
def test_odd_texts_are_explained_exactly(
    make_linear: MakeLinear, kind: Kind, odd_texts: dict[str, str], half_texts: dict[str, str]
) -> None:
    model = load(make_linear(kind, form=("narrow", "lowercase", "spaced")))

    for name, text in {**odd_texts, **half_texts}.items():
        found = explanation(model, text)

        assert joined(found) == text, name
        assert found.method == "exact", name


def test_pairs_of_a_transformer_are_cut_as_it_cuts_them(framed_pair_folder: Path) -> None:
    model = load(framed_pair_folder)

    found = explanation(model, ("gorgeous " + "film " * 100, "a dreadful story"))

    assert joined(found) == "gorgeous " + "film " * 100
    assert [piece for piece, _ in found.pair_pieces or []] == ["a", " ", "dreadful", " ", "story"]
    assert 0 < sum(number != 0.0 for _, number in found.pieces) < 40


def test_word_pieces_of_one_word_are_left_out_together(framed_folder: Path) -> None:
    found = explanation(load(framed_folder), "Unheard-of film, 看电影!")

    assert [piece for piece, _ in found.pieces] == ["Unheard", "-", "of", " ", "film", ",", " ", "看", "电", "影", "!"]


def test_a_blend_is_explained_with_the_words_of_its_first_member(
    make_linear: MakeLinear, framed_folder: Path, tmp_path: Path
) -> None:
    members = {"a": (make_linear("bag"), 0.5), "b": (framed_folder, 0.5)}
    model = load(blend_of(tmp_path / "blend", members))

    found = explanation(model, "gorgeous film")

    assert found.method == "leaving out"
    assert [piece for piece, _ in found.pieces] == ["gorgeous", " ", "film"]
    expected = margin_of(model, "gorgeous film", found.label) - margin_of(model, "film", found.label)
    assert found.pieces[0][1] == pytest.approx(expected, abs=1e-4)


@pytest.mark.parametrize(("words", "most_rows"), [(100, 101), (300, 101), (5_000, FEWEST_ROWS + 1)])
def test_long_texts_are_explained_in_groups_of_words(make_linear: MakeLinear, words: int, most_rows: int) -> None:
    """Not only rows are limited, but all their words together."""
    folder = make_linear("bag", dense_size=6)
    watched = Watched(load(folder), folder, max_length=2_000)
    text = " ".join(["film"] * words)

    found = explanation(watched, text)

    assert joined(found) == text
    assert max(watched.asked) <= most_rows


def test_rows_are_explained_in_their_order_and_checked(make_linear: MakeLinear) -> None:
    model = load(make_linear("bag"))

    assert [joined(found) for found in model.explain(iter(["a", "b"]))] == ["a", "b"]
    assert model.explain([]) == []


def test_a_folder_that_is_gone_is_said(make_linear: MakeLinear, tmp_path: Path) -> None:
    model = Watched(load(make_linear("bag")), tmp_path)

    with pytest.raises(ArtifactDamaged, match="cannot be read again"):
        explanation(model, "film")


def test_weights_of_another_model_in_the_folder_are_not_believed(make_linear: MakeLinear) -> None:
    """The folder may be replaced while the model is in memory: then words are left out."""
    model = Watched(load(make_linear("bag")), make_linear("bag", word_weights=False))

    assert explanation(model, TEXTS[0]).method == "leaving out"


def test_json_has_six_digits_and_no_tuples(make_linear: MakeLinear) -> None:
    found = explanation(load(make_linear("bag")), "gorgeous film").to_json()

    assert isinstance(found, list)
    assert [piece["piece"] for piece in found] == ["gorgeous", " ", "film"]
    assert all(round(piece["effect"], 6) == piece["effect"] for piece in found)
