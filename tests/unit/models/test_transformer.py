"""Transformer students: their shapes, what plain transformers makes of them, and what they refuse."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers

from limbeck.models.size import position_count
from limbeck.models.transformer import HeadsUnfit, StudentFamilyUnsupported, transformer_student
from limbeck.recipe.student import Transformer

FAMILIES = ["bert", "roberta", "xlm-roberta", "electra", "electra-projected", "distilbert", "mpnet"]
LABELS = ["negative", "positive"]
Make = Callable[..., Any]

# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")


def build(teacher: Any | None, *, labels: list[str] | None = None, multi_label: bool = False, **section: Any) -> Any:
    student = transformer_student(
        Transformer.model_validate({"kind": "transformer", "layers": 2, **section}),
        teacher=teacher,
        vocabulary=None,
        vocabulary_size=60,
        pad_token_id=0 if teacher is None else teacher.config.pad_token_id,
        labels=labels or LABELS,
        problem_type="multi_label_classification" if multi_label else None,
    )
    return student.eval()


@pytest.mark.parametrize("family", FAMILIES)
def test_a_student_of_the_teachers_family_is_of_its_class_with_the_sizes_asked_for(
    make_transformer: Make, family: str
) -> None:
    teacher = make_transformer(family, layers=3)

    student = build(teacher, layers=2, width=12, heads=3, inner_size=20, dropout=0.2)

    assert type(student) is type(teacher)
    config = student.config
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (2, 12, 3)
    assert student.base_model.get_input_embeddings().num_embeddings == 60
    inner = [layer for layer in student.modules() if isinstance(layer, torch.nn.Linear) and layer.out_features == 20]
    assert len(inner) == 2
    assert {part.p for part in student.modules() if isinstance(part, torch.nn.Dropout)} <= {0.2}
    assert position_count(student) == position_count(teacher) == 40
    assert teacher.config.num_hidden_layers == 3  # it is not changed


@pytest.mark.parametrize(("family", "kind"), [("bert", "Bert"), ("distilbert", "DistilBert")])
@pytest.mark.parametrize("teacher", [*FAMILIES, "deberta-v2", "albert", "xlnet"])
def test_any_teacher_can_have_a_student_of_these_families(
    make_transformer: Make, teacher: str, family: str, kind: str
) -> None:
    student = build(make_transformer(teacher), family=family)

    with torch.no_grad():
        logits = student(input_ids=torch.tensor([[7, 8, 9, 30]])).logits
    assert type(student).__name__ == f"{kind}ForSequenceClassification"
    assert student.config.hidden_size == 16
    assert logits.shape == (1, 2)
    assert torch.isfinite(logits).all()


def test_distilbert_has_no_token_types_and_no_pooler(make_transformer: Make) -> None:
    names = dict(build(make_transformer("bert"), family="distilbert").named_parameters())

    assert not [name for name in names if "token_type" in name or "pooler" in name]
    assert "pre_classifier.weight" in names


@pytest.mark.parametrize("family", ["xlnet", "deberta-v2"])
def test_a_family_whose_layers_cannot_be_taken_is_refused_by_name(make_transformer: Make, family: str) -> None:
    with pytest.raises(StudentFamilyUnsupported, match=family) as raised:
        build(make_transformer(family))

    assert 'family = "bert"' in str(raised.value)


@pytest.mark.parametrize("family", ["teacher", "bert"])
def test_without_a_teacher_it_is_tinybert(family: str) -> None:
    config = build(None, family=family, layers=4).config

    assert config.model_type == "bert"
    assert (config.num_hidden_layers, config.hidden_size, config.num_attention_heads) == (4, 312, 12)
    assert config.intermediate_size == 1200
    assert config.max_position_embeddings == 512


@pytest.mark.parametrize(
    ("asked", "heads", "inner_size"),
    [
        ({}, 2, 24),  # the teacher's
        ({"width": 128}, 2, 512),
        ({"width": 128, "inner_size": 100}, 2, 100),
        ({"width": 195}, 3, 780),  # two do not divide it
        ({"width": 197}, 1, 788),  # a prime
        ({"width": 15}, 1, 60),
        ({"heads": 4}, 4, 24),
    ],
)
def test_defaults_follow_from_the_teacher_or_from_the_width(
    make_transformer: Make, asked: dict[str, Any], heads: int, inner_size: int
) -> None:
    config = build(make_transformer("bert"), **asked).config

    assert (config.num_attention_heads, config.intermediate_size) == (heads, inner_size)


def test_heads_that_do_not_divide_the_teachers_width_are_refused(make_transformer: Make) -> None:
    with pytest.raises(HeadsUnfit, match="1, 2, 4, 8, 16"):
        build(make_transformer("bert"), heads=3)


@pytest.mark.parametrize("family", FAMILIES)
def test_plain_transformers_loads_it_with_the_same_logits(make_transformer: Make, family: str, tmp_path: Path) -> None:
    student = build(make_transformer(family, layers=3), layers=2, labels=["bad", "so-so", "good"])
    ids = torch.tensor([[7, 8, 9, 30, 12]])

    student.save_pretrained(tmp_path)
    again = transformers.AutoModelForSequenceClassification.from_pretrained(tmp_path)

    with torch.no_grad():
        torch.testing.assert_close(again(input_ids=ids).logits, student(input_ids=ids).logits)
    assert again.config.id2label == {0: "bad", 1: "so-so", 2: "good"}
    assert again.config.label2id == {"bad": 0, "so-so": 1, "good": 2}
    assert str(tmp_path) not in (tmp_path / "config.json").read_text(encoding="utf-8")


@pytest.mark.parametrize("family", FAMILIES)
def test_padding_never_changes_a_logit(make_transformer: Make, family: str) -> None:
    student = build(make_transformer(family))
    short, long = torch.tensor([[7, 8, 9]]), torch.tensor([[20, 21, 22, 23, 24]])
    padded = torch.cat([torch.nn.functional.pad(short, (0, 2), value=student.config.pad_token_id), long])
    mask = torch.tensor([[1, 1, 1, 0, 0], [1, 1, 1, 1, 1]])

    with torch.no_grad():
        together = student(input_ids=padded, attention_mask=mask).logits
        alone = [student(input_ids=row, attention_mask=torch.ones_like(row)).logits for row in (short, long)]

    torch.testing.assert_close(together, torch.cat(alone), atol=1e-5, rtol=1e-4)


def test_several_labels_per_row_are_in_the_config(make_transformer: Make) -> None:
    teacher = make_transformer("bert", problem_type="single_label_classification")

    assert build(teacher, multi_label=True).config.problem_type == "multi_label_classification"
    assert build(teacher).config.problem_type is None


def test_random_weights_have_nothing_of_the_teacher(make_transformer: Make) -> None:
    teacher = make_transformer("bert")

    student = build(teacher, start="random")

    theirs = dict(teacher.named_parameters())
    alike = [name for name, weight in student.named_parameters() if torch.equal(weight, theirs[name])]
    assert alike == []


def test_the_same_seed_gives_the_same_student(make_transformer: Make) -> None:
    teacher = make_transformer("bert")
    weights = []
    for _ in range(2):
        torch.manual_seed(5)
        weights.append(build(teacher, width=8).state_dict())

    assert all(torch.equal(weight, weights[1][name]) for name, weight in weights[0].items())
