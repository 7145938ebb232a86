"""Every kind of tokenizer gives the same tokens in JavaScript as in Python."""

import json
import subprocess
import warnings
from collections.abc import Sequence
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import Any, cast

import pytest
from tokenizers import Regex, Tokenizer, models, normalizers, pre_tokenizers, processors, trainers

from limbeck.packaging.vector_rows import vector_rows
from limbeck.runtime.inputs import FramedInputs, Inputs, WordInputs
from limbeck.runtime.row import Row
from limbeck.text.framed_tokenizer import FramedTokenizer
from limbeck.text.framing import framed_pieces, framed_teacher_tokenizer
from limbeck.text.ngrams import NgramSettings
from limbeck.text.piece_tokenizer import cut_down_pieces
from limbeck.text.student_tokenizer import StudentTokenizer
from tests.unit.packaging.conftest import needs_node
from tests.unit.text.conftest import ALL_STEPS, SEPARABLE, UNSEEN, WORDS, bert

pytestmark = [pytest.mark.node, needs_node]

READER = Path(__file__).with_name("read_rows.mjs")
MODULE = str(files("limbeck.packaging") / "web" / "limbeck" / "tokenizer.js")
WORD_POOL = [*WORDS, "的", "房间", "不错", "酒店", "hotel", "rooms", "unknowable"]
MAX_LENGTH = 30
SPECIAL = ["[PAD]", "[UNK]", "[MASK]", "[CLS]", "[SEP]"]


def drawn(*, pair: bool, count: int) -> list[Row]:
    """Rows without characters that are in newer versions of Unicode only."""
    return vector_rows([*WORD_POOL, *UNSEEN], pair=pair, language="en", count=count, seed=3)


def whole_texts(rows: Sequence[Row]) -> list[str]:
    """Short texts without halves of characters, to build tokenizers from."""
    return [cast("str", row)[:80].encode("utf-8", "replace").decode() for row in rows[:200]]


def in_node(jobs: Sequence[dict[str, Any]]) -> list[Any]:
    given = json.dumps({"module": MODULE, "jobs": jobs})
    done = subprocess.run(["node", str(READER)], input=given, capture_output=True, text=True, check=False, timeout=120)
    assert done.returncode == 0, done.stderr[-2_000:]
    return list(json.loads(done.stdout))


def job(json_text: str, rows: Sequence[Row], tokenizer: str) -> dict[str, Any]:
    return {"json": json_text, "facts": {"tokenizer": tokenizer, "max_length": MAX_LENGTH}, "rows": rows}


def in_python(reader: Inputs, rows: list[Row]) -> list[list[list[int]]]:
    columns = reader.encode(rows)
    return [[list(map(int, column[row])) for column in columns] for row in range(len(rows))]


def trained(tokenizer: Tokenizer, trainer: Any, texts: Sequence[str]) -> str:
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer.to_str()


def byte_pairs(texts: Sequence[str]) -> str:
    """Like RoBERTa's."""
    tokenizer = Tokenizer(models.BPE(unk_token="[UNK]"))
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    alphabet = pre_tokenizers.ByteLevel.alphabet()
    trainer = trainers.BpeTrainer(
        vocab_size=500, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    return trained(tokenizer, trainer, texts)


def sentence_pieces(texts: Sequence[str]) -> str:
    """Like those of SentencePiece, without its own table of characters."""
    words = sorted(
        {word[:size] for text in texts for word in f" {text}".replace(" ", " ▁").split(" ") for size in (1, 3, 5)}
    )
    scored = [
        (word, -1.5 - (place * 37 % 101) / 10) for place, word in enumerate(words) if word and word not in SPECIAL
    ]
    tokenizer = Tokenizer(models.Unigram([*((token, 0.0) for token in SPECIAL), *scored], unk_id=1))
    tokenizer.normalizer = normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")])
    tokenizer.pre_tokenizer = pre_tokenizers.Metaspace()
    return tokenizer.to_str()


def tabled_pieces(texts: Sequence[str]) -> str:
    """Like XLM-R's: with SentencePiece's own table of characters."""
    tokenizer = Tokenizer.from_str(sentence_pieces(texts))
    spaces = normalizers.Replace(Regex(" {2,}"), " ")
    tokenizer.normalizer = normalizers.Sequence([normalizers.Precompiled(character_table()), spaces])
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence([pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()])
    return tokenizer.to_str()


def character_table() -> bytes:
    """As the library writes it into every model."""
    written = BytesIO()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about its own generated modules
        import sentencepiece
        from sentencepiece import sentencepiece_model_pb2

        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(["a b c d e f g h"] * 50),
            model_writer=written,
            vocab_size=20,
            hard_vocab_limit=False,
            minloglevel=2,
        )
        model = cast(Any, sentencepiece_model_pb2).ModelProto.FromString(written.getvalue())
    return bytes(model.normalizer_spec.precompiled_charsmap)


def with_frame(json_text: str) -> str:
    tokenizer = Tokenizer.from_str(json_text)
    first, last = (tokenizer.get_vocab()[token] for token in ("[CLS]", "[SEP]"))
    tokenizer.post_processor = processors.BertProcessing(("[SEP]", last), ("[CLS]", first))
    return tokenizer.to_str()


def word_jsons(texts: Sequence[str]) -> dict[str, str]:
    return {
        **{name: build(list(texts)) for name, build in SEPARABLE.items() if "jieba" not in name},
        "n-grams": NgramSettings(buckets=2_001).to_json(),
        "n-grams in form": NgramSettings(buckets=500, words=3, shortest=1, longest=6, form=ALL_STEPS).to_json(),
        "n-grams of words": NgramSettings(buckets=64, words=1, longest=0, form=("spaced",)).to_json(),
        "byte pairs": cut_down_pieces(byte_pairs(texts), texts, max_size=400, min_count=1).to_json(),
        "sentence pieces": cut_down_pieces(sentence_pieces(texts), texts, max_size=250, min_count=1).to_json(),
        "tabled pieces": cut_down_pieces(tabled_pieces(texts), texts, max_size=900, min_count=1).to_json(),
    }


def framed_jsons(texts: Sequence[str]) -> dict[str, str]:
    special = dict.fromkeys(SPECIAL)
    pieces, _ = framed_pieces(
        bert()(list(texts)), texts, max_size=400, min_count=1, has_types=True, special_ids=special, form=ALL_STEPS
    )
    later, _ = framed_pieces(
        byte_pairs(texts), texts, max_size=400, min_count=1, has_types=False, special_ids=special, pad_id=1
    )
    whole = {"bert": _bert_with_frame(texts), "roberta": with_frame(byte_pairs(texts))}
    teachers = {
        name: framed_teacher_tokenizer(found, pad_id=0, mask_token="[MASK]", has_types=True)
        for name, found in (whole | {"xlm-roberta": with_frame(tabled_pieces(texts))}).items()
    }
    return {name: found.to_json() for name, found in (teachers | {"pieces": pieces, "later": later}).items()}


def _bert_with_frame(texts: Sequence[str]) -> str:
    tokenizer = Tokenizer.from_str(bert()(list(texts)))
    tokenizer.add_special_tokens(["[CLS]", "[SEP]"])
    return with_frame(tokenizer.to_str())


def test_words_pieces_and_ngrams_are_the_same_as_in_python() -> None:
    rows = drawn(pair=False, count=300)
    texts = whole_texts(rows)
    jsons = word_jsons(texts)

    found = in_node([job(json_text, rows, "words") for json_text in jsons.values()])

    others = {}
    for (name, json_text), in_javascript in zip(jsons.items(), found, strict=True):
        expected = in_python(WordInputs(StudentTokenizer(json_text), MAX_LENGTH), rows)
        others[name] = [row for row, one, two in zip(rows, expected, in_javascript, strict=True) if one != two][:3]
        assert len({str(row) for row in expected}) > 60, name
    assert {name: rows for name, rows in others.items() if rows} == {}


def test_frames_around_one_text_and_two_are_the_same_as_in_python() -> None:
    single, pairs = drawn(pair=False, count=100), drawn(pair=True, count=100)
    texts = whole_texts(single)
    jsons = framed_jsons(texts)

    found = in_node([job(json_text, rows, "framed") for json_text in jsons.values() for rows in (single, pairs)])

    others = {}
    for place, (name, json_text) in enumerate(jsons.items()):
        reader = FramedInputs(FramedTokenizer(json_text), MAX_LENGTH)
        for kind, rows in enumerate((single, pairs)):
            expected, in_javascript = in_python(reader, rows), found[2 * place + kind]
            zipped = zip(rows, expected, in_javascript, strict=True)
            others[name, kind] = [(row, one, two) for row, one, two in zipped if one != two][:2]
    assert {name: rows for name, rows in others.items() if rows} == {}


def test_what_is_not_known_is_refused() -> None:
    unknown = [
        {"segmenter": "jieba"},
        {"model": {"type": "Other"}},
        {"normalizer": {"type": "Nmt"}, "model": {"type": "WordLevel", "vocab": {}}},
        {"pre_tokenizer": {"type": "UnicodeScripts"}, "model": {"type": "WordLevel", "vocab": {}}},
        {
            "pre_tokenizer": {"type": "Split", "pattern": {"Regex": "\\d+"}, "behavior": "Removed", "invert": False},
            "model": {"type": "WordLevel", "vocab": {}},
        },
    ]

    for state in unknown:
        given = json.dumps({"module": MODULE, "jobs": [job(json.dumps(state), ["a"], "words")]})
        done = subprocess.run(["node", str(READER)], input=given, capture_output=True, text=True, check=False)

        assert done.returncode != 0
        assert "LimbeckError" in done.stderr, state
