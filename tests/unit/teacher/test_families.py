"""Every family of encoders is a teacher: tiny random models from their configs, with tokenizers of their own kind."""

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
import transformers
from safetensors.torch import load_file
from tokenizers import Tokenizer, models, pre_tokenizers, trainers

from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.progress import SilentReporter
from limbeck.recipe.teacher import EncoderTeacher
from limbeck.tasks import TASKS
from limbeck.teacher.encoder import Encoder
from limbeck.teacher.loading import TextsNotApart, load_encoder, load_ready, open_teacher
from limbeck.teacher.run import prepare_teacher

# DeBERTa's own module compiles a function in a way that torch is about to give up.
pytestmark = pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning")

LETTERS = "abcdefghijklmnopqrstuvwxyz"
TEXTS = ["the film is gorgeous", "", "a dreadful story with a long long evening and an old camera", "blue", "the film"]
MAX_LENGTH = 24
Words = Sequence[str]


@dataclass(frozen=True)
class Family:
    """How a family builds its tokenizer and its rows; a token's type is behind a colon where it has one."""

    tokenizer: Callable[[Words], Any]
    config: str
    sizes: dict[str, Any]
    one: str  # A is a text
    pair: str  # A and B are texts
    padding: str = "right"
    reads: str = "[CLS]"  # the token that the classifier reads; "last": the last one
    word: str = "film"  # a word that is one token when it is alone

    @property
    def reads_apart(self) -> bool:
        """Whether it can read the texts of a pair one by one."""
        return self.padding == "right" and self.reads != "last"


@dataclass(frozen=True)
class Taught:
    """A family's checkpoint, the teacher that was made of it, and that teacher opened."""

    family: Family
    checkpoint: Path
    teacher: TeacherFolder
    encoder: Encoder


def word_pieces(words: Words, *special: str) -> dict[str, int]:
    pieces = [*special, *words, *LETTERS, *(f"##{letter}" for letter in LETTERS)]
    return {piece: number for number, piece in enumerate(dict.fromkeys(pieces))}


def unigrams(words: Words, *special: str) -> list[tuple[str, float]]:
    pieces = dict.fromkeys([f"▁{word}" for word in words], -2.0) | {"▁": -5.0} | dict.fromkeys(LETTERS, -8.0)
    return [*((name, 0.0) for name in special), *pieces.items()]


def byte_pairs(words: Words, *special: str, of_bytes: bool = True) -> dict[str, Any]:
    learner = Tokenizer(models.BPE())
    own = pre_tokenizers.ByteLevel(add_prefix_space=False) if of_bytes else pre_tokenizers.Metaspace()
    learner.pre_tokenizer = own
    alphabet = sorted(pre_tokenizers.ByteLevel.alphabet()) if of_bytes else ["▁", *LETTERS]
    trainer = trainers.BpeTrainer(
        vocab_size=600, special_tokens=list(special), initial_alphabet=alphabet, show_progress=False
    )
    learner.train_from_iterator([f" {word}" for word in words for _ in range(3)], trainer)
    learned = json.loads(learner.to_str())["model"]
    return {"vocab": learned["vocab"], "merges": [tuple(merge) for merge in learned["merges"]]}


BERT_TOKENS = ("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]")
DEBERTA_TOKENS = ("[PAD]", "[CLS]", "[SEP]", "[UNK]", "[MASK]")
XLNET_TOKENS = ("<unk>", "<s>", "</s>", "<cls>", "<sep>", "<pad>", "<mask>", "<eod>", "<eop>")
SIZES = {"hidden_size": 16, "num_hidden_layers": 2, "num_attention_heads": 2, "intermediate_size": 24}
RELATIVE = {"relative_attention": True, "pos_att_type": ["c2p", "p2c"], "position_biased_input": False}

FAMILIES = {
    "bert": Family(
        tokenizer=lambda words: transformers.BertTokenizer(vocab=word_pieces(words, *BERT_TOKENS)),
        config="BertConfig",
        sizes=SIZES,
        one="[CLS]:0 A:0 [SEP]:0",
        pair="[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1",
    ),
    "roberta": Family(
        tokenizer=lambda words: transformers.RobertaTokenizer(
            **byte_pairs(words, "<s>", "<pad>", "</s>", "<unk>", "<mask>")
        ),
        config="RobertaConfig",
        sizes={**SIZES, "type_vocab_size": 1, "pad_token_id": 1},
        one="<s> A </s>",
        pair="<s> A </s> </s> B </s>",
        word=" film",
    ),
    "xlnet": Family(
        tokenizer=lambda words: transformers.XLNetTokenizer(vocab=unigrams(words, *XLNET_TOKENS)),
        config="XLNetConfig",
        sizes={"d_model": 16, "d_inner": 24, "n_layer": 2, "n_head": 2, "pad_token_id": 5},
        one="A:0 <sep>:0 <cls>:2",
        pair="A:0 <sep>:0 B:1 <sep>:1 <cls>:2",
        padding="left",
    ),
    "albert": Family(
        tokenizer=lambda words: transformers.AlbertTokenizer(
            vocab=unigrams(words, "<pad>", "<unk>", "[CLS]", "[SEP]", "[MASK]")
        ),
        config="AlbertConfig",
        sizes={**SIZES, "embedding_size": 8},
        one="[CLS]:0 A:0 [SEP]:0",
        pair="[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1",
    ),
    "electra": Family(
        tokenizer=lambda words: transformers.BertTokenizer(vocab=word_pieces(words, *BERT_TOKENS)),
        config="ElectraConfig",
        sizes={**SIZES, "embedding_size": 8},
        one="[CLS]:0 A:0 [SEP]:0",
        pair="[CLS]:0 A:0 [SEP]:0 B:1 [SEP]:1",
    ),
    "distilbert": Family(
        tokenizer=lambda words: transformers.DistilBertTokenizer(vocab=word_pieces(words, *BERT_TOKENS)),
        config="DistilBertConfig",
        sizes={"dim": 16, "hidden_dim": 24, "n_layers": 2, "n_heads": 2},
        one="[CLS] A [SEP]",
        pair="[CLS] A [SEP] B [SEP]",
    ),
    "mpnet": Family(
        tokenizer=lambda words: transformers.MPNetTokenizer(
            vocab=word_pieces(words, "<s>", "<pad>", "</s>", "[UNK]", "<mask>")
        ),
        config="MPNetConfig",
        sizes={**SIZES, "pad_token_id": 1},
        one="<s> A </s>",
        pair="<s> A </s> </s> B </s>",
    ),
    "deberta": Family(
        tokenizer=lambda words: transformers.DebertaTokenizer(**byte_pairs(words, *DEBERTA_TOKENS)),
        config="DebertaConfig",
        sizes={**SIZES, **RELATIVE},
        one="[CLS] A [SEP]",
        pair="[CLS] A [SEP] B [SEP]",
        word=" film",
    ),
    "deberta-v2": Family(
        tokenizer=lambda words: transformers.DebertaV2Tokenizer(vocab=unigrams(words, *DEBERTA_TOKENS), unk_id=3),
        config="DebertaV2Config",
        sizes={**SIZES, **RELATIVE, "position_buckets": 8, "share_att_key": True, "norm_rel_ebd": "layer_norm"},
        one="[CLS] A [SEP]",
        pair="[CLS] A [SEP] B [SEP]",
    ),
    "gpt2": Family(
        tokenizer=lambda words: transformers.GPT2Tokenizer(**byte_pairs(words, "<|endoftext|>")),
        config="GPT2Config",
        sizes={"n_embd": 16, "n_layer": 2, "n_head": 2, "n_inner": 24, "bos_token_id": 0, "eos_token_id": 0},
        one="A",
        pair="A <|endoftext|> B",
        reads="last",
        word=" film",
    ),
    "llama": Family(
        tokenizer=lambda words: transformers.LlamaTokenizer(
            **byte_pairs(words, "<unk>", "<s>", "</s>", of_bytes=False), padding_side="left", add_bos_token=True
        ),
        config="LlamaConfig",
        sizes={**SIZES, "num_key_value_heads": 1},
        one="<s> A",
        pair="<s> A <s> B",
        reads="last",
        word="film",
    ),
    "qwen2": Family(
        tokenizer=lambda words: transformers.Qwen2Tokenizer(
            **byte_pairs(words, "<|endoftext|>"), padding_side="left", pad_token=None
        ),
        config="Qwen2Config",
        sizes={**SIZES, "num_key_value_heads": 1, "max_window_layers": 2},
        one="A",
        pair="A <|endoftext|> B",
        reads="last",
        word=" film",
    ),
}


@pytest.fixture(scope="module")
def small_corpus(
    make_corpus: Callable[..., Corpus],
    toy_rows: tuple[tuple[str, str], ...],
    tmp_path_factory: pytest.TempPathFactory,
) -> Corpus:
    return make_corpus(tmp_path_factory.mktemp("toy") / "corpus", train=toy_rows[:24], dev=toy_rows[24:36])


@pytest.fixture(scope="module", params=FAMILIES)
def taught(
    request: pytest.FixtureRequest,
    toy_rows: tuple[tuple[str, str], ...],
    small_corpus: Corpus,
    tmp_path_factory: pytest.TempPathFactory,
) -> Taught:
    """A family's checkpoint, fine-tuned for two steps."""
    folder = tmp_path_factory.mktemp(request.param)
    family = FAMILIES[request.param]
    save_checkpoint(family, folder / "checkpoint", sorted({word for text, _ in toy_rows for word in text.split()}))
    section = {"checkpoint": str(folder / "checkpoint"), "epochs": 1, "batch_size": 12, "learning_rate": 1e-2}
    teacher = prepare_teacher(
        EncoderTeacher.model_validate({**section, "max_length": MAX_LENGTH, "precision": "fp32", "processes": 1}),
        corpus=small_corpus,
        out=folder / "teacher",
        key=Key(section={}, inputs={}),
        reporter=SilentReporter(),
    )
    return Taught(family, folder / "checkpoint", teacher, open_teacher(teacher))


def save_checkpoint(family: Family, folder: Path, words: Words) -> None:
    tokenizer = family.tokenizer(words)
    config = getattr(transformers, family.config)(vocab_size=len(tokenizer), **family.sizes)
    config.id2label, config.label2id = {0: "negative", 1: "positive"}, {"negative": 0, "positive": 1}
    torch.manual_seed(0)
    model = transformers.AutoModelForSequenceClassification.from_config(config)
    with torch.no_grad():  # larger than random weights start, so that different texts get clearly different logits
        for parameter in model.parameters():
            if parameter.dim() > 1:
                parameter.normal_(std=0.3)
    model.save_pretrained(folder)
    tokenizer.save_pretrained(folder)
    if family.config == "DebertaConfig":  # as Microsoft's are: from a tokenizer.json its class takes no special tokens
        (folder / "tokenizer.json").unlink()
        (folder / "vocab.json").write_text(json.dumps(tokenizer.get_vocab()), encoding="utf-8")
        merges = "\n".join(" ".join(merge) for merge in tokenizer._merges)
        (folder / "merges.txt").write_text(f"#version: 0.2\n{merges}\n", encoding="utf-8")


def filled(form: str, **texts: list[str]) -> list[str]:
    """The tokens of a form, each with its type: "A:0" becomes those of the text A."""
    parts = [(part.partition(":")[0], part.partition(":")[2]) for part in form.split()]
    return [f"{token}:{kind}" for name, kind in parts for token in texts.get(name, [name])]


def described(encoder: Encoder, row: dict[str, list[int]]) -> list[str]:
    tokens = encoder.tokenizer.convert_ids_to_tokens(row["input_ids"])
    types: list[Any] = row.get("token_type_ids") or [""] * len(tokens)
    return [f"{token}:{kind}" for token, kind in zip(tokens, types, strict=True)]


def test_all_families_that_are_promised_are_here() -> None:
    encoders = {"bert", "roberta", "xlnet", "albert", "electra", "distilbert", "mpnet", "deberta", "deberta-v2"}
    decoders = {"gpt2", "llama", "qwen2"}

    assert set(FAMILIES) == encoders | decoders
    assert {name for name, family in FAMILIES.items() if family.reads == "last"} == decoders


def test_a_family_is_fine_tuned_and_its_folder_can_be_read(taught: Taught) -> None:
    before, after = (load_file(folder / "model.safetensors") for folder in (taught.checkpoint, taught.teacher.folder))
    history = json.loads((taught.teacher.folder / "history.json").read_text(encoding="utf-8"))

    changed = {name for name, weight in before.items() if not torch.equal(weight, after[name])}

    assert len(changed) > len(before) / 2
    assert np.isfinite(history[0]["dev_loss"])
    assert taught.teacher.hidden_size == 16
    assert taught.teacher.facts.max_length == MAX_LENGTH
    assert Tokenizer.from_str(taught.teacher.tokenizer_json()).get_vocab_size() == len(taught.encoder.tokenizer)


def test_a_text_stands_between_the_special_tokens_of_the_family(taught: Taught) -> None:
    row = taught.encoder.tokenise(["the film"])[0]

    text = taught.encoder.tokenizer.tokenize("the film")
    assert described(taught.encoder, row) == filled(taught.family.one, A=text)


def test_a_pair_has_the_form_of_the_family(taught: Taught) -> None:
    row = taught.encoder.tokenise(["the film"], ["a gorgeous scene"])[0]

    texts = [taught.encoder.tokenizer.tokenize(text) for text in ("the film", "a gorgeous scene")]
    assert described(taught.encoder, row) == filled(taught.family.pair, A=texts[0], B=texts[1])


def test_padding_is_on_the_side_of_the_family(taught: Taught) -> None:
    tokenizer = taught.encoder.tokenizer
    rows = taught.encoder.tokenise(["the film", "the film is gorgeous"])

    batch = taught.encoder.batch(rows)

    missing = len(rows[1]["input_ids"]) - len(rows[0]["input_ids"])
    padding, mask = [tokenizer.pad_token_id] * missing, [0] * missing
    on_left = taught.family.padding == "left"
    ids = rows[0]["input_ids"]
    ones = [1] * len(ids)
    assert batch["input_ids"][0].tolist() == ([*padding, *ids] if on_left else [*ids, *padding])
    assert batch["attention_mask"][0].tolist() == ([*mask, *ones] if on_left else [*ones, *mask])
    if on_left:
        assert batch["token_type_ids"][0].tolist()[:missing] == [3] * missing


def test_padding_never_changes_a_logit(taught: Taught) -> None:
    together = taught.encoder.logits(TEXTS, TEXTS[::-1], tokens_per_batch=1000)
    alone = [taught.encoder.logits([a], [b]) for a, b in zip(TEXTS, TEXTS[::-1], strict=True)]

    np.testing.assert_allclose(together, np.concatenate(alone), atol=1e-5)
    assert np.isfinite(together).all()
    assert np.ptp(together, axis=0).min() > 0.01


def test_a_teacher_says_the_same_after_saving_and_loading_whatever_mode_it_was_in(
    taught: Taught, tmp_path: Path
) -> None:
    before = taught.encoder.logits(TEXTS, TEXTS[::-1])
    taught.encoder.model.train()

    taught.encoder.save(tmp_path)
    again = load_encoder(tmp_path, max_length=MAX_LENGTH, arithmetic="fp32").logits(TEXTS, TEXTS[::-1])

    np.testing.assert_array_equal(again, before)
    np.testing.assert_array_equal(taught.encoder.logits(TEXTS, TEXTS[::-1]), before)
    assert taught.encoder.model.training
    taught.encoder.model.eval()


def test_plain_transformers_reads_the_saved_folder_alike(taught: Taught) -> None:
    tokenizer = transformers.AutoTokenizer.from_pretrained(taught.teacher.folder)
    model = transformers.AutoModelForSequenceClassification.from_pretrained(taught.teacher.folder)

    texts = [text for text in TEXTS if tokenizer(text)["input_ids"]]  # of an empty one it makes nothing but padding
    with torch.no_grad():
        plain = model(**tokenizer(texts, padding=True, truncation=True, max_length=MAX_LENGTH, return_tensors="pt"))

    np.testing.assert_allclose(taught.encoder.logits(texts, None), plain.logits.numpy(), atol=1e-5)


@pytest.mark.parametrize("long_texts", ["head", "head_and_tail"])
def test_long_texts_are_cut_and_keep_the_special_tokens(taught: Taught, long_texts: Any) -> None:
    encoder = load_encoder(taught.teacher.folder, max_length=12, arithmetic="fp32", long_texts=long_texts)
    text = " ".join(["camera", "garden", "letter", "road"] * 10)

    one, pair = encoder.tokenise([text])[0], encoder.tokenise([text], ["the film"])[0]

    tokens, second = encoder.tokenizer.tokenize(text), encoder.tokenizer.tokenize("the film")
    room = 12 - len(taught.family.one.split()) + 1
    head = room if long_texts == "head" else round(room / 4)
    kept = [*tokens[:head], *tokens[len(tokens) - room + head :]]
    assert described(encoder, one) == filled(taught.family.one, A=kept)
    room = 12 - len(taught.family.pair.split()) + 2 - len(second)
    head = room if long_texts == "head" else max(round(room / 4), 1)
    kept = [*tokens[:head], *tokens[len(tokens) - room + head :]]
    assert described(encoder, pair) == filled(taught.family.pair, A=kept, B=second)
    assert np.isfinite(encoder.logits([text], [text])).all()


def test_a_family_reads_texts_apart_or_says_that_it_cannot(taught: Taught, tmp_path: Path) -> None:
    if not taught.family.reads_apart:
        with pytest.raises(TextsNotApart, match=r"it is a (xlnet|gpt2|llama|qwen2); known: .*bert"):
            apart(taught.checkpoint)
        return

    twin = apart(taught.checkpoint)

    end = twin.tokenizer.sep_token
    first, second = [*TEXTS, f"the film {end} blue"], [*TEXTS[::-1], f"{end} blue"]
    together, features = twin.logits_and_features(first, second, pooling="mean", tokens_per_batch=1000)
    for place, side in enumerate((first, second)):  # each text as if it were alone
        alone = twin.logits_and_features(side, None, pooling="mean", tokens_per_batch=1)[1]
        np.testing.assert_allclose(features[:, 16 * place : 16 * place + 16], alone[:, :16], atol=5e-3)
    assert twin.fresh == {"classifier.weight", "classifier.bias"}
    twin.save(tmp_path)
    again = load_encoder(tmp_path, max_length=99, arithmetic="fp32")
    np.testing.assert_array_equal(again.logits(first, second, tokens_per_batch=1000), together)


def apart(checkpoint: Path) -> Encoder:
    labels = ["different", "same"]
    return load_encoder(checkpoint, max_length=99, arithmetic="fp32", labels=labels, apart=True)


def test_words_and_pieces_have_states(taught: Taught) -> None:
    word = taught.family.word
    (piece,) = taught.encoder.tokenizer.tokenize(word)

    with SilentReporter().bar("words", total=2, unit="words") as bar:
        words = taught.encoder.word_states([word, "gorgeous"], are_pieces=False, bar=bar)
        pieces = taught.encoder.word_states([piece], are_pieces=True, bar=bar)

    assert words.shape == (2, 16)
    assert not np.allclose(words[0], words[1], atol=0.01)
    np.testing.assert_allclose(pieces[0], words[0], atol=1e-5)


def test_features_are_those_of_the_token_that_the_classifier_reads_or_of_all(taught: Taught) -> None:
    encoder = taught.encoder

    logits, of_one = encoder.logits_and_features(TEXTS, None, pooling="cls")
    _, of_all = encoder.logits_and_features(TEXTS, None, pooling="mean", tokens_per_batch=1)

    np.testing.assert_array_equal(logits, encoder.logits(TEXTS, None))
    for place, text in enumerate(TEXTS):
        row = encoder.tokenise([text])[0]
        with torch.no_grad():
            states = encoder.model(**encoder.batch([row]), output_hidden_states=True).hidden_states[-1][0]
        is_last = taught.family.reads == "last"
        read = -1 if is_last else row["input_ids"].index(encoder.tokenizer.cls_token_id)
        np.testing.assert_allclose(of_one[place], states[read].numpy(), atol=1e-3, rtol=1e-3)
        np.testing.assert_allclose(of_all[place], states.mean(dim=0).numpy(), atol=1e-3, rtol=1e-3)


def test_the_classes_of_a_ready_teacher_are_put_into_the_order_of_the_corpus(taught: Taught, tmp_path: Path) -> None:
    section = EncoderTeacher.model_validate(
        {"checkpoint": "mine", "train": "none", "precision": "fp32", "max_length": MAX_LENGTH}
        | {"label_names": {"negative": "bad", "positive": "a good one"}}
    )

    ready = load_ready(taught.teacher.folder, section=section, labels=["a good one", "bad"], task=TASKS["one_label"])
    ready.save(tmp_path)

    before = taught.encoder.logits(TEXTS, None)
    np.testing.assert_array_equal(ready.logits(TEXTS, None), before[:, ::-1])
    saved = transformers.AutoConfig.from_pretrained(tmp_path)
    assert saved.id2label == {0: "a good one", 1: "bad"}
    np.testing.assert_array_equal(
        load_encoder(tmp_path, max_length=MAX_LENGTH, arithmetic="fp32").logits(TEXTS, None), before[:, ::-1]
    )
