"""Shared by the tests of this room: a context, corpora of any texts, copy makers, and a bound on random counts."""

from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.augmentation.copies import Copy, CopyMaker, Tally
from limbeck.augmentation.method import PreparationContext, Prepared
from limbeck.progress import SilentReporter

MakeBench = Callable[..., PreparationContext]
MakeCorpus = Callable[..., Corpus]
MakeCopies = Callable[..., list[Copy]]
Within = Callable[..., bool]
MakeLanguageModel = Callable[..., Path]


@pytest.fixture
def key() -> Key:
    return Key(section={}, inputs={})


@pytest.fixture
def make_context(tmp_path: Path) -> MakeBench:
    """make_context(language="en", processes=1)."""

    def make(*, language: str = "en", processes: int = 1) -> PreparationContext:
        return PreparationContext(language, processes, tmp_path / "store", SilentReporter())

    return make


@pytest.fixture
def make_rows() -> Callable[..., Rows]:
    """make_rows(texts, pairs=None): training rows."""

    def make(texts: Sequence[str], pairs: Sequence[str] | None = None) -> Rows:
        return Rows.of(ids=[f"train-{number}" for number in range(len(texts))], texts=texts, pairs=pairs)

    return make


@pytest.fixture
def make_texts_corpus(tmp_path: Path, key: Key, make_rows: Callable[..., Rows]) -> MakeCorpus:
    """make_texts_corpus(train, dev=…, test=…, pairs=…, language="en"): a corpus of these texts."""

    def make(
        train: Sequence[str],
        *,
        dev: Sequence[str] = ("a dev text",),
        test: Sequence[str] = (),
        pairs: Sequence[str] | None = None,
        language: str = "en",
    ) -> Corpus:
        splits = {"train": make_rows(train, pairs)}
        splits |= {
            name: make_rows(texts, None if pairs is None else texts)
            for name, texts in (("dev", dev), ("test", test))
            if texts
        }
        facts = {"name": "toy", "labels": ["no", "yes"], "language": language, "pair": pairs is not None}
        with written_atomically(tmp_path / "corpus", kind="corpus", key=key) as scratch:
            save_corpus(scratch, splits=splits, facts=facts)
        return Corpus(tmp_path / "corpus")

    return make


@pytest.fixture
def make_copies() -> MakeCopies:
    """make_copies(methods, *texts, copies=1, seed=0, language="en", sides="one_or_both"): the copies of one row."""

    def make(methods: Sequence[Prepared], *texts: str, copies: int = 1, seed: int = 0, language: str = "en",
             sides: str = "one_or_both", row_id: str = "train-0") -> list[Copy]:  # fmt: skip
        copy_maker = CopyMaker(tuple(methods), language, seed, "both" if sides == "both" else "one_or_both")
        return list(copy_maker.copies_of(row_id, texts, Tally.of(copy_maker.methods), copies=copies))

    return make


@pytest.fixture
def within_four_sigma() -> Within:
    """within_four_sigma(found, trials=…, chance=…): whether a binomial count is within the bound that holds 15,786 in
    15,787 times. Draws are seeded, so a test that passes once always passes."""

    def within(found: int, *, trials: int, chance: float) -> bool:
        sigma = float((trials * chance * (1 - chance)) ** 0.5)
        return abs(found - trials * chance) <= 4 * sigma

    return within


SPECIAL = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
MASKED_LM_SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}


@pytest.fixture
def make_language_model(tmp_path: Path) -> MakeLanguageModel:
    """make_language_model(pieces, liked=None, lowercase=True, name="language-model"): a tiny BERT, as a folder.

    Whatever it is asked, it says the liked pieces, in this order; without any, what its random weights say.
    """

    def make(
        pieces: Sequence[str],
        *,
        liked: Sequence[str] | None = None,
        lowercase: bool = True,
        name: str = "language-model",
    ) -> Path:
        import torch
        from transformers import BertConfig, BertForMaskedLM, BertTokenizer

        vocabulary = {piece: number for number, piece in enumerate(dict.fromkeys([*SPECIAL, *pieces]))}
        tokenizer = BertTokenizer(vocab=vocabulary, do_lower_case=lowercase)
        torch.manual_seed(0)
        model = BertForMaskedLM(
            BertConfig(vocab_size=len(vocabulary), max_position_embeddings=64, initializer_range=0.5, **MASKED_LM_SIZES)
        )
        if liked is not None:
            head = model.cls.predictions
            with torch.no_grad():
                head.transform.LayerNorm.weight.zero_()  # the logits do not depend on the text
                for number, piece in enumerate(liked):
                    head.bias[vocabulary[piece]] = len(liked) - number
        model.save_pretrained(tmp_path / name)
        tokenizer.save_pretrained(tmp_path / name)
        return tmp_path / name

    return make
