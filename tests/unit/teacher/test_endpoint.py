"""A language model behind an address as the teacher, against a real server in another process that fails on command."""

import json
import multiprocessing
import time
import warnings
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus, save_corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.labeling.asking import asked_rows
from limbeck.labeling.source import PaidTeacher, TeacherSource
from limbeck.progress import SilentReporter
from limbeck.recipe.endpoint import EndpointTeacher
from limbeck.recipe.labeling import Labeling
from limbeck.teacher.endpoint import ExampleUnusable, described_for, fingerprint_for
from limbeck.teacher.endpoints.asking import EndpointAnswers
from limbeck.teacher.endpoints.client import EndpointUnusable
from limbeck.teacher.endpoints.ledger import spent_in
from limbeck.teacher.endpoints.quality import p_of_positions, positions_of
from limbeck.teacher.endpoints.questions import Questions
from limbeck.teacher.run import opened, prepare_teacher

KEY = Key(section={}, inputs={})
SECRET = "sk-a-secret-of-the-user"
TEXTS = ["a gorgeous film", "a dreadful film", "so gorgeous", "quite dreadful"]
IS_POSITIVE = [True, False, True, False]


def section(chat: Any, **keys: Any) -> EndpointTeacher:
    given = {"kind": "endpoint", "url": chat.url, "model": "tiny", "retry_seconds": 0.01, "timeout": 5.0, **keys}
    return EndpointTeacher.model_validate(given)


@pytest.fixture
def answers(toy_corpus: Corpus, chat: Any) -> Callable[..., EndpointAnswers]:
    """answers(**keys): the teacher of the toy corpus, open."""

    def answers(**keys: Any) -> EndpointAnswers:
        asked = section(chat, **keys)
        return EndpointAnswers(asked, Questions(described_for(asked, toy_corpus)))

    return answers


def probabilities(logits: Any) -> Any:
    powers = np.exp(logits)
    return powers / powers.sum(axis=1, keepdims=True)


def corpus_of(folder: Path, *, labels: list[str], rows: Rows, **facts: Any) -> Corpus:
    with written_atomically(folder, kind="corpus", key=KEY) as scratch:
        given = {"name": "made", "labels": labels, "language": "en", "pair": rows.is_pair, "multi_label": False}
        save_corpus(scratch, splits={"train": rows, "dev": rows}, facts={**given, **facts})
    return Corpus(folder)


def test_it_is_prepared_once_and_its_answers_on_dev_are_right(toy_corpus: Corpus, chat: Any, tmp_path: Path) -> None:
    chat.script(key=SECRET)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MODEL_KEY", SECRET)
        teacher = prepare_teacher(
            section(chat, key_from="MODEL_KEY"),
            corpus=toy_corpus,
            out=tmp_path / "t",
            key=KEY,
            reporter=SilentReporter(),
        )
        logits = opened(teacher).logits(TEXTS, None)

    assert (logits.argmax(axis=1) == IS_POSITIVE).all()
    assert teacher.facts.dev_accuracy == 1.0
    assert teacher.fingerprint == fingerprint_for(section(chat), toy_corpus)
    assert [path for path in teacher.folder.rglob("*") if SECRET in path.read_text(encoding="utf-8")] == []
    quality = json.loads((teacher.folder / "quality.json").read_text(encoding="utf-8"))
    assert sum(quality["positions"]) == quality["rows"] == 50
    assert np.array(quality["confusion"]).trace() == 50


def test_each_way_of_answering_gives_the_probabilities_that_the_model_has(
    answers: Callable[..., EndpointAnswers], chat: Any
) -> None:
    for keys, script, expected in (
        ({"answers": "logprobs"}, {}, 0.9),
        ({"answers": "votes", "samples": 10}, {}, 0.9),
        ({"answers": "votes", "samples": 10}, {"many": False}, 0.999),  # asked one by one, it always says the same
        ({"answers": "confidence"}, {}, 0.9),
        ({"answers": "confidence"}, {"schema": False}, 0.9),
        ({"samples": 10}, {"logprobs": False}, 0.9),  # votes instead
        ({"options": {"max_completion_tokens": 3}}, {}, 0.9),
    ):
        chat.script(**script)
        found = probabilities(answers(**keys).logits(TEXTS, None))

        assert np.abs(found[:, 1] - np.where(IS_POSITIVE, expected, 1 - expected)).max() < 0.01, (keys, script)
    assert "max_tokens" not in chat.seen()["last"]


def test_faults_are_waited_out_and_what_names_no_class_has_no_answer(
    answers: Callable[..., EndpointAnswers], chat: Any
) -> None:
    for fault in ("429", "500", "408", "cut", "broken", "no_logprobs", "unknown", "retry-after 0.05"):
        chat.script(faults=[fault])
        logits = answers(concurrency=1, samples=1).logits(TEXTS, None)
        assert (logits.argmax(axis=1) == IS_POSITIVE).all(), fault
        assert chat.seen()["requests"] == 5, fault
    chat.script(faults=["slow"])
    assert not np.isnan(answers(timeout=0.5).logits(TEXTS[:1], None)).any()

    chat.script(always="unknown")
    teacher = answers(answer_retries=1)
    assert np.isnan(teacher.logits(TEXTS, None)).all()
    assert "4 texts have no answer" in " ".join(teacher.remarks)
    assert chat.seen()["requests"] == 8
    with pytest.raises(EndpointUnusable, match="it said: 'I would rather not say'"):
        answers(answer_retries=0).logits([f"text {number}" for number in range(60)], None)
    assert chat.seen()["requests"] < 8 + 40


def test_a_server_that_asks_for_patience_gets_it(answers: Callable[..., EndpointAnswers], chat: Any) -> None:
    chat.script(faults=["retry-after 0.6"])
    started = time.monotonic()

    answers(concurrency=1).logits(TEXTS[:2], None)

    assert time.monotonic() - started >= 0.6
    chat.script()
    started = time.monotonic()
    answers(concurrency=4, requests_per_minute=600).logits(TEXTS, None)
    assert time.monotonic() - started >= 0.3  # four requests, a tenth of a second apart


def test_errors_say_what_to_do_and_never_the_key(
    answers: Callable[..., EndpointAnswers], chat: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    chat.script(always="500")
    with pytest.raises(EndpointUnusable, match="after 2 tries"):
        answers(retries=1).logits(TEXTS, None)
    chat.script(always="error")  # with the status 200
    with pytest.raises(EndpointUnusable, match="not a chat completion: the model is overloaded"):
        answers(retries=1).logits(TEXTS, None)
    chat.script(key="another")
    monkeypatch.setenv("MODEL_KEY", SECRET)
    with pytest.raises(EndpointUnusable, match="401") as refused:
        answers(key_from="MODEL_KEY").logits(TEXTS, None)
    assert SECRET not in str(refused.value)
    assert "***" in str(refused.value)
    monkeypatch.delenv("MODEL_KEY")
    with pytest.raises(EndpointUnusable, match="MODEL_KEY"):
        answers(key_from="MODEL_KEY").logits(TEXTS, None)
    for wrong in ({"options": {"api_key": "x"}}, {"url": "http://me:x@host"}, {"max_cost": 1.0}, {"options": {"n": 2}}):
        with pytest.raises(ValueError, match=r"key|prices|sets itself"):
            section(chat, **wrong)


def test_limits_stop_it_cleanly_and_the_next_run_goes_on(toy_corpus: Corpus, chat: Any, tmp_path: Path) -> None:
    rows = toy_corpus.splits["dev"]

    def ask(**keys: Any) -> Any:
        asked = section(chat, concurrency=8, prices={"input_per_million": 10.0, "output_per_million": 0.0}, **keys)
        source = TeacherSource(
            name="it",
            fingerprint="it",
            open=lambda: EndpointAnswers(asked, Questions(described_for(asked, toy_corpus))),
        )
        return asked_rows(source, Labeling(), rows=rows, classes=2, root=tmp_path, reporter=SilentReporter())

    first = ask(max_requests=20)
    assert chat.seen()["requests"] == 20 == (~np.isnan(first).any(axis=1)).sum()
    cost = spent_in(tmp_path / "it").cost(section(chat, prices={"input_per_million": 10.0})) or 0.0
    assert cost == pytest.approx(chat.seen()["tokens_in"] * 10 / 1e6)
    second = ask(max_cost=2 * cost)
    known = int((~np.isnan(second).any(axis=1)).sum())
    assert 30 <= known <= 42
    assert spent_in(tmp_path / "it").tokens_in * 10 / 1e6 <= 2 * cost
    third = ask()

    assert not np.isnan(third).any()
    assert chat.seen()["requests"] == len(rows)
    assert (third[known_rows(first)] == first[known_rows(first)]).all()


def known_rows(logits: Any) -> Any:
    return ~np.isnan(logits).any(axis=1)


def test_ten_kills_pay_for_nothing_twice_but_what_was_in_flight(toy_corpus: Corpus, chat: Any, tmp_path: Path) -> None:
    """Each process is forked off this one, which has loaded everything, so that ten of them take a second."""
    chat.script(seconds=0.02)
    asked = section(chat, concurrency=4)
    teacher = EndpointAnswers(asked, Questions(described_for(asked, toy_corpus)))
    source = TeacherSource(name="it", fingerprint="it", open=lambda: teacher)
    rows, fork = toy_corpus.splits["train"], multiprocessing.get_context("fork")

    def ask() -> Any:
        return asked_rows(
            source, Labeling(rows_per_shard=7), rows=rows, classes=2, root=tmp_path, reporter=SilentReporter()
        )

    for _ in range(10):
        answered = chat.seen()["answered"]
        with warnings.catch_warnings(action="ignore"):  # forking a process with threads
            process = fork.Process(target=ask)
            process.start()
        while chat.seen()["answered"] < answered + 10:
            time.sleep(0.005)
        process.kill()
        process.join()
    assert not np.isnan(ask()).any()

    seen = chat.seen()
    assert len(seen["texts"]) == len(rows) == 150
    assert sum(seen["texts"].values()) - len(rows) <= 10 * 4
    assert len(rows) <= spent_in(tmp_path / "it").requests <= seen["requests"]


def test_pairs_and_several_labels_are_asked_too(chat: Any, tmp_path: Path) -> None:
    pairs = Rows.of(ids=["a", "b"], texts=["a gorgeous film", "x"], pairs=["y", "dreadful"], labels=[1, 0])
    paired = section(chat)
    corpus = corpus_of(tmp_path / "pairs", labels=["negative", "positive"], rows=pairs)
    logits = EndpointAnswers(paired, Questions(described_for(paired, corpus))).logits(pairs.texts, pairs.pairs)
    assert (logits.argmax(axis=1) == [1, 0]).all()
    assert chat.seen()["last"]["messages"][-1]["content"].startswith("First text:\n")

    labels = ["cheap", "dear", "loud"]
    several = Rows.of(ids=["a", "b"], texts=["loud and cheap", "nothing"], labels=np.array([[1, 0, 1], [0, 0, 0]]))
    corpus = corpus_of(tmp_path / "several", labels=labels, rows=several, multi_label=True)
    words = {"loud": "loud", "cheap": "cheap"}
    trials: list[tuple[dict[str, Any], dict[str, Any]]] = [
        ({}, {}),
        ({"answers": "votes"}, {}),
        ({"answers": "confidence"}, {}),
        ({}, {"logprobs": False}),
    ]
    for keys, script in trials:
        chat.script(words=words, **script)
        asked = section(chat, **keys)
        teacher = EndpointAnswers(asked, Questions(described_for(asked, corpus)))
        assert (teacher.logits(several.texts[:1], None)[0] > 0).tolist() == [True, False, True], (keys, script)


def test_answers_that_depend_on_the_position_show_in_the_counts(
    answers: Callable[..., EndpointAnswers], chat: Any, toy_corpus: Corpus
) -> None:
    chat.script(position=0)
    teacher, rows = answers(), toy_corpus.splits["dev"]

    counts = positions_of(teacher.logits(rows.texts, rows.pairs), rows.texts, rows.pairs, teacher.questions)

    assert counts.tolist() == [50, 0]
    assert p_of_positions(counts.tolist()) < 1e-9
    assert p_of_positions([26, 24]) > 0.5


def test_its_answers_depend_on_the_question_and_not_on_how_it_is_asked(chat: Any, toy_corpus: Corpus) -> None:
    first = fingerprint_for(section(chat), toy_corpus)

    same: list[dict[str, Any]] = [
        {"url": "http://elsewhere/v1"},
        {"concurrency": 3},
        {"max_requests": 5},
        {"key_from": "K"},
        {"name": "n"},
    ]
    other: list[dict[str, Any]] = [
        {"model": "b"},
        {"instruction": "Judge."},
        {"descriptions": {"negative": "x"}},
        {"examples_from_train": 2},
    ]
    assert [keys for keys in same if fingerprint_for(section(chat, **keys), toy_corpus) != first] == []
    prints = [fingerprint_for(section(chat, **keys), toy_corpus) for keys in other]
    assert len({first, *prints}) == 5


def test_examples_are_balanced_and_wrong_ones_are_refused(chat: Any, toy_corpus: Corpus) -> None:
    drawn = described_for(section(chat, examples_from_train=4), toy_corpus)["examples"]

    assert sorted(label for example in drawn for label in example["labels"]) == ["negative"] * 2 + ["positive"] * 2
    for keys in ({"examples": [{"text": "x", "labels": ["unknown"]}]}, {"descriptions": {"unknown": "x"}}):
        with pytest.raises(ExampleUnusable):
            described_for(section(chat, **keys), toy_corpus)


def test_a_refused_text_is_left_out_but_a_refused_request_stops(
    answers: Callable[..., EndpointAnswers], chat: Any
) -> None:
    chat.script(faults=["", "400"])
    teacher = answers(concurrency=1, answers="logprobs")
    assert np.isnan(teacher.logits(TEXTS, None)).any(axis=1).sum() == 1
    assert "refused" in " ".join(teacher.remarks)
    assert isinstance(teacher, PaidTeacher)
    chat.script(always="422")
    with pytest.raises(EndpointUnusable, match="422"):
        answers(answers="logprobs").logits(TEXTS, None)
