"""A transformer student's tokens: read off the teacher's folder, and whose embeddings they start from."""

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
import torch
import transformers
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.vocabulary_folder import VocabularyFolder
from limbeck.distillation.transformer_vocabulary import build_transformer_vocabulary
from limbeck.errors import TeacherTokensUnsupported
from limbeck.models.transformer import StudentFamilyUnsupported, transformer_student
from limbeck.progress import SilentReporter
from limbeck.recipe.student import Transformer
from limbeck.text.framed_tokenizer import FramedTokenizer

KEY = Key(section={}, inputs={})
LETTERS = "abcdefghijklmnopqrstuvwxyz"
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
LABELS = {0: "negative", 1: "positive"}
Words = list[str]


def word_pieces(words: Words, *special: str) -> dict[str, int]:
    pieces = [*special, *words, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def unigrams(words: Words, *special: str) -> list[tuple[str, float]]:
    pieces = dict.fromkeys([f"▁{word}" for word in words], -2.0) | {"▁": -5.0} | dict.fromkeys(LETTERS, -8.0)
    return [*((name, 0.0) for name in special), *pieces.items()]


def byte_pairs(words: Words, *special: str) -> dict[str, Any]:
    learner = Tokenizer(models.BPE())
    learner.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet())
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator([f" {word}" for word in words for _ in range(3)], trainer)
    learned = json.loads(learner.to_str())["model"]
    return {"vocab": learned["vocab"], "merges": [tuple(merge) for merge in learned["merges"]]}


BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
ROBERTA_TOKENS = ("<s>", "<pad>", "</s>", "<unk>", "<mask>")
XLNET_TOKENS = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
TEACHERS: dict[str, tuple[Callable[[Words], Any], str, dict[str, Any]]] = {
    "bert": (lambda words: transformers.BertTokenizer(vocab=word_pieces(words, *BERT_TOKENS)), "BertConfig", SIZES),
    "distilbert": (
        lambda words: transformers.DistilBertTokenizer(vocab=word_pieces(words, *BERT_TOKENS)),
        "DistilBertConfig",
        {"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2},
    ),
    "roberta": (
        lambda words: transformers.RobertaTokenizer(**byte_pairs(words, *ROBERTA_TOKENS)),
        "RobertaConfig",
        {**SIZES, "type_vocab_size": 1, "pad_token_id": 1},
    ),
    "mpnet": (
        lambda words: transformers.MPNetTokenizer(vocab=word_pieces(words, "<s>", "<pad>", "</s>", "[UNK]", "<mask>")),
        "MPNetConfig",
        {**SIZES, "pad_token_id": 1},
    ),
    "albert": (
        lambda words: transformers.AlbertTokenizer(vocab=unigrams(words, "<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")),
        "AlbertConfig",
        {**SIZES, "embedding_size": 8},
    ),
    "xlnet": (
        lambda words: transformers.XLNetTokenizer(vocab=unigrams(words, *XLNET_TOKENS)),
        "XLNetConfig",
        {"d_model": 16, "d_inner": 24, "n_layer": 2, "n_head": 2, "pad_token_id": 5},
    ),
}


@dataclass(frozen=True)
class Built:
    """A vocabulary, and the teacher that it was made for."""

    vocabulary: VocabularyFolder
    teacher: Any
    tokens: Any  # the teacher's tokenizer

    @property
    def tokenizer(self) -> FramedTokenizer:
        return FramedTokenizer.load(self.vocabulary.tokenizer)

    @property
    def facts(self) -> dict[str, Any]:
        return self.vocabulary.facts


Build = Callable[..., Built]


@pytest.fixture
def build(toy_corpus: Corpus, tmp_path: Path) -> Build:
    """build(family of the teacher, section keys…): the vocabulary of a student for the toy corpus."""

    def build(teacher: str, *, extra: tuple[Rows, ...] = (), form: Any = (), **section: Any) -> Built:
        words = sorted({word for text in toy_corpus.splits["train"].texts for word in text.split()})
        make, config, sizes = TEACHERS[teacher]
        tokens = make([*words, "neverused"])
        model = transformers.AutoModelForSequenceClassification.from_config(
            getattr(transformers, config)(vocab_size=len(tokens), id2label=LABELS, **sizes)
        )
        with torch.no_grad():
            for parameter in model.parameters():
                parameter.normal_(mean=0.0 if parameter.dim() > 1 else 0.5, std=0.4)
        folder = tmp_path / "teacher"
        model.save_pretrained(folder)
        tokens.save_pretrained(folder)
        vocabulary = build_transformer_vocabulary(
            Transformer.model_validate({"kind": "transformer", "layers": 2, **section}),
            corpus=toy_corpus,
            extra=extra,
            form=form,
            encoder=TeacherFolder(folder),
            out=tmp_path / str(len(list(tmp_path.iterdir()))),
            key=KEY,
            reporter=SilentReporter(),
        )
        return Built(vocabulary, model.eval(), tokens)

    return build


def student_of(built: Built, **section: Any) -> Any:
    facts = built.facts
    return transformer_student(
        Transformer.model_validate({"kind": "transformer", "layers": 2, **section}),
        teacher=built.teacher,
        vocabulary=facts["teacher_ids"],
        vocabulary_size=facts["tokens"],
        pad_token_id=facts["pad_id"],
        labels=list(LABELS.values()),
    ).eval()


def logits(model: Any, rows: list[list[int]]) -> torch.Tensor:
    with torch.no_grad():
        return torch.cat([model(input_ids=torch.tensor([row])).logits for row in rows])


@pytest.mark.parametrize("teacher", ["bert", "distilbert", "roberta", "mpnet"])
@pytest.mark.parametrize("vocabulary", [{"kind": "teacher"}, {"kind": "pieces", "min_count": 1}])
def test_a_student_of_the_teachers_shape_reads_a_text_as_the_teacher_does(
    build: Build, toy_corpus: Corpus, teacher: str, vocabulary: dict[str, Any]
) -> None:
    built = build(teacher, vocabulary=vocabulary)
    texts = toy_corpus.splits["train"].texts[:8]

    ours = logits(student_of(built, vocabulary=vocabulary), built.tokenizer.encode(texts, max_length=60))

    theirs = logits(built.teacher, built.tokens(texts)["input_ids"])
    torch.testing.assert_close(ours, theirs, atol=1e-5, rtol=1e-4)
    assert theirs.std(dim=0).min() > 1e-3


@pytest.mark.parametrize("teacher", ["bert", "distilbert", "roberta", "mpnet", "albert"])
def test_all_of_the_teachers_tokens_keep_their_ids(build: Build, teacher: str) -> None:
    built = build(teacher, family="bert")

    facts, theirs = built.facts, built.tokens
    assert facts == {
        "kind": "teacher",
        "tokens": len(theirs),
        "pad_id": theirs.pad_token_id,
        "has_types": teacher in ("bert", "albert"),
        "teacher_ids": None,
    }
    assert built.tokenizer.encode(["a neverused film"], max_length=40) == theirs(["a neverused film"])["input_ids"]
    assert built.vocabulary.vectors() is None


@pytest.mark.parametrize("teacher", list(TEACHERS))
def test_pieces_are_those_of_the_texts_and_know_where_they_came_from(build: Build, teacher: str) -> None:
    built = build(teacher, family="bert", vocabulary={"kind": "pieces", "min_count": 1})

    facts, tokenizer, theirs = built.facts, built.tokenizer, built.tokens
    assert facts["tokens"] == len(tokenizer) == len(facts["teacher_ids"]) < len(theirs)
    assert tokenizer.vocabulary[:5] == ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]"]
    special = [theirs.pad_token_id, theirs.unk_token_id, theirs.mask_token_id, theirs.cls_token_id, theirs.sep_token_id]
    assert facts["teacher_ids"][:5] == special
    assert theirs.convert_ids_to_tokens(facts["teacher_ids"][5:]) == tokenizer.vocabulary[5:]
    assert not any("neverused" in piece for piece in tokenizer.vocabulary)


@pytest.mark.parametrize(
    ("teacher", "family", "kind", "has_types"),
    [
        ("bert", "teacher", "pieces", True),
        ("bert", "distilbert", "pieces", False),
        ("bert", "distilbert", "teacher", True),  # for the teacher, where it reads along
        ("roberta", "teacher", "pieces", False),
        ("roberta", "bert", "pieces", True),
        ("roberta", "bert", "teacher", False),
    ],
)
def test_second_texts_have_types_for_whoever_reads_them(
    build: Build, teacher: str, family: str, kind: str, has_types: bool
) -> None:
    built = build(teacher, family=family, vocabulary={"kind": kind})

    assert built.facts["has_types"] == built.tokenizer.has_types == has_types


@pytest.mark.parametrize(("teacher", "pad_id"), [("bert", 0), ("roberta", 1), ("mpnet", 1)])
def test_padding_has_the_id_that_the_students_positions_need(build: Build, teacher: str, pad_id: int) -> None:
    """RoBERTa and MPNet read a row and the same row with padding after it alike only if they recognise padding."""
    built = build(teacher, vocabulary={"kind": "pieces"})
    student = student_of(built)
    row = built.tokenizer.encode(["the film with a story"], max_length=40)[0]

    with torch.no_grad():
        padded = torch.tensor([[*row, built.facts["pad_id"], built.facts["pad_id"]]])
        mask = torch.tensor([[1] * len(row) + [0, 0]])
        with_padding = student(input_ids=padded, attention_mask=mask).logits

    assert built.facts["pad_id"] == pad_id
    torch.testing.assert_close(with_padding, logits(student, [row]), atol=1e-5, rtol=1e-4)


def test_transfer_text_and_second_texts_count_too(build: Build) -> None:
    extra = Rows.of(ids=["a", "b"], texts=["zqzq", "zqzq"], pairs=["neverused", "neverused"])

    pieces = build("bert", extra=(extra,), vocabulary={"kind": "pieces"}).tokenizer.vocabulary

    assert {"z", "##q", "neverused"} <= set(pieces)


@pytest.mark.parametrize("kind", ["teacher", "pieces"])
def test_texts_are_brought_to_the_form(build: Build, kind: str) -> None:
    built = build("roberta", form=("lowercase",), vocabulary={"kind": kind})

    lower, upper = built.tokenizer.encode(["the film", "THE Film"], max_length=20)

    assert lower == upper


def test_the_most_pieces_are_kept_to(build: Build) -> None:
    built = build("bert", vocabulary={"kind": "pieces", "min_count": 1, "max_size": 40})

    assert built.facts["tokens"] == 40


def test_what_cannot_be_is_refused_before_anything_is_trained(build: Build) -> None:
    with pytest.raises(StudentFamilyUnsupported, match="xlnet"):
        build("xlnet")
    with pytest.raises(TeacherTokensUnsupported, match="before a text"):
        build("xlnet", family="bert")


@pytest.mark.parametrize("kind", ["teacher", "pieces"])
def test_the_same_texts_give_the_same_vocabulary_byte_for_byte(build: Build, kind: str) -> None:
    first, second = (build("bert", vocabulary={"kind": kind}).vocabulary.fingerprint for _ in range(2))

    assert first == second
