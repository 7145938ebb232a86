"""Models for benchmarks/readers.py: every kind that is not trained here, with random weights and made-up words."""

import random
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

from benchmarks.start_up import made_up_words

LABELS = ["negative", "neutral", "positive"]
LOUDER = 6  # times the weights of the last layer, so that rounding decides few labels
HAN = [chr(0x4E00 + place) for place in range(0, 9_000, 3)]
ROWS, WORDS_A_ROW = 100, 24


def made_models(work: Path) -> dict[str, Path]:
    """Folders of models, by a name."""
    from limbeck.kinds import STUDENT_KINDS, resolved
    from limbeck.recipe.student import BiLstm, Ngrams
    from limbeck.text.ngrams import NgramSettings
    from limbeck.text.student_tokenizer import StudentTokenizer

    dice = random.Random(0)
    english, chinese = made_up_words(dice), han_words(dice)
    ngrams = StudentTokenizer(NgramSettings(buckets=1 << 17, form=("lowercase", "spaced")).to_json())
    network = {kind: resolved(STUDENT_KINDS[kind].network) for kind in ("bilstm", "ngrams")}
    made = {
        "english": exported(work / "english", network["bilstm"], BiLstm(), words_of(english, "en"), english, "int8"),
        "chinese": exported(work / "chinese", network["bilstm"], BiLstm(), words_of(chinese, "zh"), chinese, "fp32"),
        "n-grams": exported(
            work / "ngrams", network["ngrams"], Ngrams(kind="ngrams", embedding_size=32), ngrams, english, "int8"
        ),
        "pairs": transformer(work / "pairs"),
    }
    return {**made, "blend": blended(work / "blend", made["english"], made["n-grams"])}


def words_of(words: list[str], language: str) -> Any:
    """The usual tokenizer of these words."""
    from limbeck.text.word_tokenizer import build_word_tokenizer

    return build_word_tokenizer(words, language=language, max_size=30_000, min_count=1, lowercase=True)


def han_words(dice: random.Random) -> list[str]:
    """Words of one to three characters."""
    return [*HAN, *dict.fromkeys("".join(dice.choices(HAN, k=dice.randint(2, 3))) for _ in range(8_000))]


def exported(
    folder: Path, build: Callable[..., Any], section: Any, tokenizer: Any, words: list[str], precision: Any
) -> Path:
    """A student with random weights, exported."""
    import torch

    from limbeck.artifacts.student_folder import StudentFacts
    from limbeck.training.modes import quiet_transformers

    quiet_transformers()
    torch.manual_seed(0)
    network = build(
        section, vocabulary_size=len(tokenizer), embedding_size=section.embedding_size, labels=LABELS, pair=False
    )
    with torch.no_grad():
        network.classifier.weight.mul_(LOUDER)
    kind = section.kind
    facts = StudentFacts(
        name=kind, kind=kind, role="student", seed=0, labels=LABELS, language="zh" if "一" in words[:1] else "en",
        pair=False, best_epoch=1, dev_accuracy=0.5, max_length=section.max_length, parameters=network.num_parameters(),
        parameters_without_embeddings=0,
    )  # fmt: skip
    return saved(folder, network, tokenizer, facts, words, precision)


def saved(folder: Path, network: Any, tokenizer: Any, facts: Any, words: list[str], precision: Any) -> Path:
    from limbeck.artifacts.atomic_folder import written_atomically
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.rows import Rows
    from limbeck.artifacts.student_folder import StudentFolder, save_student_facts
    from limbeck.export import export_student
    from limbeck.progress import SilentReporter
    from limbeck.recipe.export import Export

    key, dice = Key(section={}, inputs={}), random.Random(1)
    with written_atomically(folder / "student", kind="student", key=key) as scratch:
        network.save_pretrained(scratch)
        tokenizer.save(scratch / "tokenizer.json")
        save_student_facts(scratch, facts, history=[])
    texts = list(dict.fromkeys(" ".join(dice.choices(words, k=WORDS_A_ROW)) for _ in range(ROWS)))
    model = export_student(
        Export(int8_agreement=0),  # with random weights many rows lie near the border
        student=StudentFolder(folder / "student"),
        rows=Rows.of(ids=texts, texts=texts, pairs=texts[::-1] if facts.pair else None),
        precision=precision,
        out=folder / "model",
        key=key,
        reporter=SilentReporter(),
    )
    return model.folder


def transformer(folder: Path) -> Path:
    """Of four layers and 312 wide, as TinyBERT's, with the tokens of the demo's encoder."""
    import torch
    from transformers import BertConfig, BertForSequenceClassification

    from limbeck.artifacts.student_folder import StudentFacts
    from limbeck.models.checkpoint import find_checkpoint
    from limbeck.text.framing import framed_teacher_tokenizer

    source = Path(find_checkpoint("all-MiniLM-L6-v2")) / "tokenizer.json"
    tokenizer = framed_teacher_tokenizer(
        source.read_text(encoding="utf-8"), pad_id=0, mask_token="[MASK]", has_types=True
    )
    torch.manual_seed(0)
    config = BertConfig(
        vocab_size=len(tokenizer), hidden_size=312, num_hidden_layers=4, num_attention_heads=12,
        intermediate_size=1_200, num_labels=len(LABELS),
    )  # fmt: skip
    network = BertForSequenceClassification(config).eval()
    with torch.no_grad():
        network.classifier.weight.mul_(10 * LOUDER)
    facts = StudentFacts(
        name="transformer", kind="transformer", role="student", seed=0, labels=LABELS, language="en", pair=True,
        max_length=128, parameters=network.num_parameters(), parameters_without_embeddings=0, best_epoch=1,
        dev_accuracy=0.5, tokenizer="framed",
    )  # fmt: skip
    return saved(folder, network, tokenizer, facts, ["the", "film", "was", "not", "good"], "int8")


def blended(folder: Path, first: Path, second: Path) -> Path:
    """Both models with equal weights."""
    from limbeck.artifacts.atomic_folder import written_atomically
    from limbeck.artifacts.manifest import Key
    from limbeck.artifacts.model_folder import Member, ModelFolder, copy_model, save_facts

    members = {"bilstm-int8": first, "ngrams-int8": second}
    with written_atomically(folder, kind="model", key=Key(section={}, inputs={})) as scratch:
        for name, place in members.items():
            copy_model(ModelFolder(place), scratch / name, has_profile=False)
        facts = ModelFolder(first).facts()
        weights = tuple(Member(name, 0.5) for name in members)
        save_facts(scratch, replace(facts, name="blend", kind="blend", members=weights))
    return folder
