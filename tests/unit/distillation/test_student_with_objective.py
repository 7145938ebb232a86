"""A student at work: what it and its teacher say of a batch, for every loss that goes by it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from pydantic import TypeAdapter
from torch import Tensor

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.artifacts.teacher_labels import TeacherLabels
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.new_student import new_student
from limbeck.distillation.objective import Objective
from limbeck.distillation.run import Origins, judge
from limbeck.distillation.student_with_objective import (
    LiveTeacher,
    StudentWithObjective,
    feature_width,
    has_layers,
    inputs_of,
    shape_of,
)
from limbeck.distillation.terms.term import Batch, Shapes
from limbeck.distillation.training_rows import TrainingRows, training_rows_of
from limbeck.recipe.kinds import Loss
from limbeck.recipe.student import Transformer

LAYER_LOSSES: list[dict[str, Any]] = [
    {"kind": "hidden_mse"},
    {"kind": "hidden_cosine"},
    {"kind": "embedding_mse"},
    {"kind": "attention_mse"},
    {"kind": "attention_kl"},
    {"kind": "pkd", "layers": "last"},
    {"kind": "minilm"},
    {"kind": "minilm_v2", "relation_heads": 4},
    {"kind": "nst"},
    {"kind": "fsp"},
]
Train = Callable[..., StudentFolder]


def losses_of(*tables: dict[str, Any]) -> list[Loss]:
    return TypeAdapter(list[Loss]).validate_python(list(tables))


@pytest.fixture
def training_rows(
    toy_corpus: Corpus, teacher_tokens: VocabularyFolder, make_labels: Callable[..., TeacherLabels]
) -> TrainingRows:
    rows = toy_corpus.splits["train"]
    return training_rows_of(
        rows,
        make_labels(rows, width=32),
        tokenizer=teacher_tokens.tokenizer,
        kind="framed",
        classes=2,
        max_length=16,
        with_features=True,
        device=torch.device("cpu"),
    )


@pytest.fixture
def make_student(toy_corpus: Corpus, teacher_tokens: VocabularyFolder, tiny_encoder: Any) -> Callable[..., Any]:
    """make_student(layers=…, …): a transformer started from the tiny teacher."""

    def make(**keys: Any) -> Any:
        section = Transformer.model_validate({"kind": "transformer", "max_length": 16, **keys})
        teacher = tiny_encoder.model
        return new_student(section, alone=False, vocabulary=teacher_tokens, corpus=toy_corpus, start_from=teacher)

    return make


def with_objective(student: Any, encoder: Any, *tables: dict[str, Any]) -> StudentWithObjective:
    live = LiveTeacher(encoder, reads_attention=True)
    shapes = Shapes(student_layers=shape_of(student), teacher_layers=live.shape)
    return StudentWithObjective(student, Objective(losses_of(*tables), shapes), teacher=live)


def test_a_student_that_is_its_teacher_has_nothing_to_learn_from_its_layers(
    make_student: Callable[..., Any], tiny_encoder: Any, training_rows: TrainingRows
) -> None:
    """Of the teacher's own shape and started from it: TinyBERT's losses and all others on layers are zero."""
    module = with_objective(make_student(layers=2, dropout=0.0), tiny_encoder, *LAYER_LOSSES)

    terms = module.train()(training_rows, np.arange(8), 0.0)

    assert len(terms) == len(LAYER_LOSSES)
    for name, term in terms.items():
        assert abs(term.item()) < 1e-5, name


def test_a_student_with_other_weights_has(
    make_student: Callable[..., Any], tiny_encoder: Any, training_rows: TrainingRows
) -> None:
    torch.manual_seed(1)  # the tiny teacher was drawn with 0
    module = with_objective(make_student(layers=2, dropout=0.0, start="random"), tiny_encoder, *LAYER_LOSSES)

    terms = module.train()(training_rows, np.arange(8), 0.0)

    for name, term in terms.items():
        assert term.item() > 1e-4, name


@pytest.mark.parametrize("table", LAYER_LOSSES, ids=lambda table: table["kind"])
@pytest.mark.parametrize("width", [16, 32])
def test_a_student_learns_from_the_layers_of_a_frozen_teacher(
    make_student: Callable[..., Any], tiny_encoder: Any, training_rows: TrainingRows, table: dict[str, Any], width: int
) -> None:
    student = make_student(layers=1, width=width, heads=2, start="random")
    module = with_objective(student, tiny_encoder, table)

    (term,) = module.train()(training_rows, np.arange(8), 0.0).values()
    term.backward()

    assert term.isfinite()
    reached = [name for name, weight in student.named_parameters() if weight.grad is not None and weight.grad.any()]
    assert reached
    assert all(weight.grad is None for weight in tiny_encoder.model.parameters())
    known = {id(weight) for weight in module.parameters()}
    assert not any(id(weight) in known for weight in tiny_encoder.model.parameters())
    assert not [name for name in module.state_dict() if "teacher" in name]


def test_the_teacher_reads_along_without_dropout_and_in_the_mode_it_was_in(
    tiny_encoder: Any, training_rows: TrainingRows
) -> None:
    """TinyBERT's own code forgets to: the targets are then noise around what the teacher means."""
    live = LiveTeacher(tiny_encoder, reads_attention=True)
    tiny_encoder.model.train()

    first, again = (live.layers(training_rows.inputs(np.arange(8))) for _ in range(2))

    assert all(torch.equal(one, two) for one, two in zip(first.hidden, again.hidden, strict=True))
    assert all(torch.equal(one, two) for one, two in zip(first.queries, again.queries, strict=True))
    assert tiny_encoder.model.training
    assert not any(states.requires_grad for states in first.hidden)


def test_the_teacher_reads_no_attention_unless_a_loss_asks_for_it(
    tiny_encoder: Any, training_rows: TrainingRows
) -> None:
    states = LiveTeacher(tiny_encoder, reads_attention=False).layers(training_rows.inputs(np.arange(3)))

    assert len(states.hidden) == 3
    assert states.queries == ()


def test_the_teacher_has_the_same_states_for_these_rows_as_when_it_labels_them(
    tiny_encoder: Any, training_rows: TrainingRows, toy_corpus: Corpus
) -> None:
    """The student has its own tokens, so the states must be those from which its features come."""
    tiny_encoder.max_length = 16
    rows = toy_corpus.splits["train"]

    _, features = tiny_encoder.logits_and_features(rows.texts[:8], None, pooling="cls")
    states = LiveTeacher(tiny_encoder, reads_attention=False).layers(training_rows.inputs(np.arange(8)))

    torch.testing.assert_close(states.hidden[-1][:, 0], torch.from_numpy(features).float(), atol=5e-3, rtol=5e-3)


def test_logits_features_and_labels_belong_to_the_rows_of_the_batch(
    make_student: Callable[..., Any], training_rows: TrainingRows
) -> None:
    batches: list[Batch] = []

    class Watching(Objective):
        def forward(self, batch: Batch) -> dict[str, Tensor]:
            batches.append(batch)
            return super().forward(batch)

    student = make_student(layers=1).eval()
    module = StudentWithObjective(student, Watching(losses_of({"kind": "logit_mse"}), Shapes()), teacher=None)
    places = np.array([5, 2, 9])

    module(training_rows, places, 0.25)

    (batch,) = batches
    assert training_rows.teacher_features is not None
    assert torch.equal(batch.teacher.logits, training_rows.teacher_logits[[5, 2, 9]])
    assert batch.teacher.features is not None
    assert torch.equal(batch.teacher.features, training_rows.teacher_features[[5, 2, 9]].float())
    assert batch.labels.tolist() == training_rows.labels[[5, 2, 9]].tolist()
    assert batch.done == 0.25
    assert torch.equal(batch.mask, training_rows.inputs(places)["attention_mask"])
    with torch.no_grad():
        answer = student(**training_rows.inputs(places), output_hidden_states=True)
    torch.testing.assert_close(batch.student.features, answer.hidden_states[-1][:, 0])
    torch.testing.assert_close(batch.student.logits, answer.logits)


def test_the_features_of_a_student_of_words_are_those_before_its_head(
    run_training: Train, toy_corpus: Corpus, make_labels: Callable[..., TeacherLabels], seen: list[Any]
) -> None:
    run_training(role="student", labels=make_labels(toy_corpus.splits["train"]))

    student = seen[0].with_objective.student
    assert not has_layers(student)
    assert feature_width(student) == 12  # both directions of six


def test_token_types_go_only_to_a_student_that_has_a_table_for_them(
    make_student: Callable[..., Any], training_rows: TrainingRows
) -> None:
    inputs = {**training_rows.inputs(np.arange(2)), "token_type_ids": torch.zeros(2, 16, dtype=torch.long)}

    bert, distilbert = make_student(layers=1), make_student(layers=1, family="distilbert")

    assert inputs_of(bert, inputs).keys() == {"input_ids", "attention_mask", "token_type_ids"}
    assert inputs_of(distilbert, inputs).keys() == {"input_ids", "attention_mask"}
    assert has_layers(distilbert)
    assert feature_width(distilbert) == 32


def test_judging_leaves_the_student_in_the_mode_it_was_in(
    make_student: Callable[..., Any], training_rows: TrainingRows
) -> None:
    student = make_student(layers=1).train()

    found = judge(student, training_rows)

    assert student.training
    assert found.keys() >= {"dev_accuracy", "dev_loss", "dev_score"}
    assert judge(student, training_rows) == found  # no dropout in it


# ---- complete trainings of transformers ----


@pytest.fixture
def train_transformer(
    run_training: Train,
    toy_corpus: Corpus,
    teacher_tokens: VocabularyFolder,
    tiny_encoder: Any,
    make_labels: Callable[..., TeacherLabels],
) -> Train:
    """train_transformer(student={…}, losses=[…], …): distilled from the tiny teacher, which reads along."""

    def train(*, role: str = "student", student: dict[str, Any] | None = None, **options: Any) -> StudentFolder:
        labels = make_labels(toy_corpus.splits["train"], width=32) if role == "student" else None
        origins = Origins(start_from=lambda: tiny_encoder.model, teacher=lambda: tiny_encoder)
        options = {"origins": origins, "vocabulary": teacher_tokens, "learning_rate": 1e-3, **options}
        return run_training(role=role, student={"kind": "transformer", **(student or {})}, labels=labels, **options)

    return train


def test_a_transformer_is_distilled_in_two_stages_and_the_teacher_stays_as_it_was(
    train_transformer: Train, tiny_encoder: Any, seen: list[Any]
) -> None:
    before = {name: weight.clone() for name, weight in tiny_encoder.model.state_dict().items()}
    tiny_encoder.model.eval()
    stages = [
        {"epochs": 2, "losses": [{"kind": "embedding_mse"}, {"kind": "hidden_mse"}, {"kind": "attention_mse"}]},
        {"epochs": 10, "learning_rate": 0.01, "losses": [{"kind": "soft_targets", "temperature": 1.0}]},
    ]

    student = train_transformer(
        student={"width": 16, "heads": 2, "family": "bert", "max_length": 32}, stages=stages, batch_size=16
    )

    first_stage = [epoch["losses"]["hidden_mse"] for epoch in student.history[:2]]
    assert first_stage[1] < first_stage[0]
    assert student.facts.kind == student.facts.name == "transformer"
    assert student.facts.tokenizer == "framed"
    assert student.facts.max_length == 32
    assert (student.facts.dev_accuracy or 0) > 0.9
    assert all(torch.equal(weight, before[name]) for name, weight in tiny_encoder.model.state_dict().items())
    assert not tiny_encoder.model.training
    assert all(weight.grad is None for weight in tiny_encoder.model.parameters())
    first, second = seen
    assert first.with_objective._teacher
    assert not second.with_objective._teacher  # nobody asks it any more


def test_features_of_a_transformer_are_compared_too(train_transformer: Train) -> None:
    losses = [{"kind": "logit_mse"}, {"kind": "hint"}, {"kind": "hidden_cosine"}]

    student = train_transformer(losses=losses, epochs=2)

    assert student.history[-1]["losses"].keys() == {"logit_mse", "hint", "hidden_cosine"}


def test_a_transformer_learns_from_layers_in_bf16(train_transformer: Train, tiny_encoder: Any) -> None:
    tiny_encoder.arithmetic = "bf16"

    student = train_transformer(losses=[{"kind": "logit_mse"}, {"kind": "minilm"}], precision="bf16")

    assert np.isfinite(student.history[-1]["loss"])


def test_a_transformer_starts_from_its_teacher(train_transformer: Train, tiny_encoder: Any, seen: list[Any]) -> None:
    train_transformer(student={"layers": 1, "teacher_layers": "last"})

    theirs = tiny_encoder.model.state_dict()
    name = "bert.encoder.layer.{}.attention.self.query.weight"
    assert torch.equal(seen[0].start[name.format(0)], theirs[name.format(1)])


def test_the_baseline_of_a_transformer_starts_from_what_it_is_given_and_reads_no_teacher(
    train_transformer: Train, tiny_teacher_folder: Any, seen: list[Any]
) -> None:
    from transformers import AutoModelForSequenceClassification

    untrained = AutoModelForSequenceClassification.from_pretrained(tiny_teacher_folder)

    baseline = train_transformer(
        role="baseline", origins=Origins(start_from=lambda: untrained), losses=[{"kind": "hidden_mse"}]
    )

    (training,) = seen
    name = "bert.encoder.layer.0.output.dense.weight"
    assert torch.equal(training.start[name], untrained.state_dict()[name])
    assert not training.with_objective._teacher
    assert [loss.kind for loss in training.training.losses] == ["hard_labels"]
    assert baseline.facts.name == "transformer-alone"


def test_opening_a_checkpoint_takes_no_part_in_what_the_seed_decides(
    train_transformer: Train, tiny_encoder: Any, seen: list[Any]
) -> None:
    """The checkpoint before fine-tuning is opened with the teacher's seed, which is the same for all students."""

    def opened() -> Any:
        torch.manual_seed(5)
        return tiny_encoder.model

    origins = Origins(start_from=opened)
    for seed, how in ((0, origins), (1, origins), (0, Origins(start_from=lambda: tiny_encoder.model))):
        train_transformer(role="baseline", seed=seed, origins=how, student={"start": "random"})

    first, other, plain = (training.start["bert.encoder.layer.0.output.dense.weight"] for training in seen)
    assert not torch.equal(first, other)
    assert torch.equal(first, plain)
