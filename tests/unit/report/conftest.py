"""A report as evaluation writes it, with numbers made up, and the smallest models that can be judged and timed."""

from collections.abc import Callable
from typing import Any

import pytest

from limbeck.artifacts.manifest import Key
from limbeck.artifacts.model_folder import ModelFolder

KEY = Key(section={}, inputs={})
GAIN = {"accuracy": 0.072, "ci95": [0.051, 0.094]}
WORDS = ["[PAD]", "[UNK]", "[MASK]", "gorgeous", "dreadful", "film", "story"]
MakeModel = Callable[..., ModelFolder]


def entry(name: str, role: str, *, accuracy: float, p50: float, size_mb: float, **more: Any) -> dict[str, Any]:
    """One line of the report."""
    return {
        "name": name,
        "role": role,
        "kind": "bilstm",
        "precision": "fp32",
        "seed_count": 1 if role == "teacher" else 3,
        "accuracy": accuracy,
        "accuracy_sd": 0.0 if role == "teacher" else 0.003,
        "accuracy_ci95": [accuracy - 0.012, accuracy + 0.012],
        "macro_f1": accuracy - 0.002,
        "teacher_agreement": 1.0 if role == "teacher" else 0.95,
        "ece": 0.031,
        "per_class": [
            {"label": label, "precision": accuracy, "recall": accuracy, "f1": accuracy, "support": 400 + number}
            for number, label in enumerate(("negative", "positive"))
        ],
        "parameters": 109_486_464 if role == "teacher" else 3_100_000,
        "parameters_without_embeddings": 85_054_464 if role == "teacher" else 612_000,
        "size_mb": size_mb,
        "latency_ms": {"p50": p50, "p95": 1.5 * p50, "samples": 300},
        "rows_per_second": 2500 / p50,
        "speedup_over_teacher": 86.4 / p50,
        **more,
    }


def curve(name: str, role: str, seed: int) -> dict[str, Any]:
    """Three epochs of a student."""
    epochs = [
        {"epoch": epoch, "loss": 1 / epoch, "dev_accuracy": 0.8 + 0.02 * epoch + 0.01 * seed} for epoch in (1, 2, 3)
    ]
    return {"name": name, "role": role, "seed": seed, "epochs": epochs}


@pytest.fixture
def report() -> dict[str, Any]:
    """A report with a teacher, a baseline, a student and an exported file; the test may change it."""
    return {
        "run": "toy-run",
        "corpus": {
            "name": "toy",
            "rows": {"train": 6000, "dev": 500, "test": 801},
            "labels": ["negative", "positive"],
            "language": "en",
            "pair": False,
            "overlap": {
                "mode": "remove",
                "splits": {
                    "dev": {"rows": 500, "found": 0, "verbatim": 0},
                    "test": {"rows": 801, "found": 0, "verbatim": 0},
                },
                "train_rows_removed": 0,
            },
            "duplicates_in_train": 17,
        },
        "judged_split": "test",
        "judged_rows": 801,
        "machine": {
            "cpu": "A Processor",
            "cores": 2,
            "threads": 1,
            "system": "Linux x86_64",
            "python": "3.11.9",
            "versions": {"limbeck": "0.1.0", "torch": "2.6.0"},
        },
        "models": [
            entry("bert-base-uncased", "teacher", accuracy=0.942, p50=86.4, size_mb=438.0, dev_accuracy=0.95),
            entry("bilstm-alone", "baseline", accuracy=0.856, p50=0.7, size_mb=12.5, folder="models/bilstm-alone"),
            entry(
                "bilstm",
                "student",
                accuracy=0.928,
                p50=0.72,
                size_mb=12.5,
                folder="models/bilstm",
                gain_over_baseline=GAIN,
            ),
            entry(
                "bilstm-int8",
                "export",
                accuracy=0.926,
                p50=0.36,
                size_mb=3.4,
                folder="models/bilstm-int8",
                gain_over_baseline=GAIN,
            ),
        ],
        "transfer": {
            "files": ["more.txt"],
            "texts_read": 1200,
            "kept": 1100,
            "overlap": {"mode": "remove", "splits": {"test": {"rows": 801, "found": 4, "verbatim": 3}}},
        },
        "curves": [
            curve(name, role, seed)
            for name, role in (("bilstm-alone", "baseline"), ("bilstm", "student"))
            for seed in (0, 1)
        ],
    }


@pytest.fixture
def rival_report(report: dict[str, Any]) -> dict[str, Any]:
    """The same with a rival, 3.6 points below the best file, and the share of the most frequent class."""
    rival = entry("tfidf", "rival", accuracy=0.890, p50=0.4, size_mb=5.1, kind="tfidf", seed_count=1)
    report["models"].insert(1, rival)
    for line in report["models"]:
        if line["role"] != "rival":
            difference = line["accuracy"] - rival["accuracy"]
            line["gain_over_rival"] = {"accuracy": difference, "ci95": [difference - 0.02, difference + 0.02]}
    choice = {"by": "accuracy", "rows": 500, "equal": ["bilstm", "bilstm-int8"]}
    example = {"text": "a story with a heart", "pair": None}
    chance = {"label": "positive", "accuracy": 0.5}
    return report | {"best": "bilstm-int8", "choice": choice, "example": example, "chance": chance}


@pytest.fixture
def full_report(report: dict[str, Any]) -> dict[str, Any]:
    """The same with everything that evaluation can find out."""
    return filled(report)


def filled(report: dict[str, Any]) -> dict[str, Any]:
    """Add to every entry and to the report what an evaluation of everything adds."""
    for number, line in enumerate(report["models"]):
        line |= _all_numbers(line, number)
    report |= {
        "teacher_int8": {
            "size_mb": 110.4,
            "latency_ms": {"p50": 31.2, "p95": 40.1, "p99": 52.0},
            "rows_per_second": 70.0,
            "agreement": 0.991,
            "agreement_rows": 256,
        },
        "cascade": _cascade(),
        "worst_errors": _worst_errors(),
        "augmentation": {"rows_made": 900, "methods": [{"kind": "masking", "kept": 900}]},
    }
    for curve_of in report["curves"]:
        terms = ("hard_labels", "soft_targets") if curve_of["role"] == "student" else ("hard_labels",)
        for epoch in curve_of["epochs"]:
            epoch["losses"] = {term: epoch["loss"] / (2 + place) for place, term in enumerate(terms)}
        curve_of["points"] = [
            [
                {"step": 10 * step, **{term: 1 / (step + place) for place, term in enumerate(terms)}}
                for step in range(1, 40)
            ]
        ]
    return report


def _all_numbers(line: dict[str, Any], number: int) -> dict[str, Any]:
    accuracy, is_teacher = line["accuracy"], line["role"] == "teacher"
    means = {"precision": accuracy + 0.001, "recall": accuracy - 0.001, "f1": accuracy - 0.002}
    right = round(400 * accuracy), round(401 * accuracy) - 6
    against = {"only_this": 90, "only_other": 24, "p": 1.2e-9, "test": "chi2"}
    noise = {"only_this": 21, "only_other": 26 + number, "p": 0.31, "test": "chi2"}
    judged = line["role"] in ("student", "export")
    return {
        "mcc": 2 * accuracy - 1,
        "roc_auc": accuracy + 0.03,
        "macro": means,
        "weighted": means,
        "confusion": [[right[0], 400 - right[0]], [401 - right[1], right[1]]],
        "by_length": [
            {"words": [low, high], "rows": 200, "accuracy": accuracy + shift}
            for low, high, shift in ((1, 8, 0.02), (9, 14, 0.01), (15, 22, 0.0), (23, 61, -0.03))
        ],
        "kl_to_teacher": None if is_teacher else 0.052,
        "reliability": [
            {"confidence": 0.5 + place / 20, "accuracy": 0.45 + place / 21, "rows": 20 + 10 * place}
            for place in range(10)
        ],
        "reliability_calibrated": None
        if is_teacher
        else [
            {"confidence": 0.5 + place / 20, "accuracy": 0.5 + place / 20.5, "rows": 30 + 10 * place}
            for place in range(10)
        ],
        "temperature": None if is_teacher else 1.42,
        "ece_calibrated": None if is_teacher else 0.012,
        "mcnemar": {"baseline": against if judged else None, "teacher": noise if judged else None},
        "multiply_adds": 2_400_000_000 if is_teacher else 9_100_000,
        "latency_ms": {**line["latency_ms"], "p99": 2.1 * line["latency_ms"]["p50"]},
        "throughput": [
            {"threads": threads, "batch": batch, "rows_per_second": line["rows_per_second"] * threads * batch**0.5}
            for threads in (1, 2)
            for batch in (1, 32)
        ],
        "speedup_over_teacher_int8": 31.2 / line["latency_ms"]["p50"],
    }


def _cascade() -> dict[str, Any]:
    points = [
        {
            "threshold": 0.5 + share / 40,
            "asked_share": share / 20,
            "accuracy": min(0.944, 0.928 + 0.13 * share / 20),
            "ms": 0.72 + 86.4 * share / 20,
        }
        for share in range(21)
    ]
    return {
        "student": "bilstm",
        "chosen_on": "dev",
        "points": points,
        "cheapest": points[3],
        "teacher_accuracy": 0.942,
        "student_accuracy": 0.928,
    }


def _worst_errors() -> list[dict[str, Any]]:
    texts = [
        "not half as bad as the trailer made me fear",
        "<b>two hours</b> of my life that nobody will give back & a bill on top",
        "a film that asks a great deal of its viewers, gives little of it back, " * 8,
        "剧情很拖沓，但是演员的表演让人难忘",
    ]
    return [
        {
            "text": text,
            "pair": None,
            "label": "positive",
            "student": "negative",
            "teacher": "positive",
            "student_probability": 0.998 - 0.01 * place,
            "teacher_probability": 0.91 - 0.02 * place,
        }
        for place, text in enumerate(texts)
    ]


@pytest.fixture
def file_report(report: dict[str, Any]) -> dict[str, Any]:
    """The same with a teacher that is a file of answers: it has neither size nor speed."""
    size = ("parameters", "parameters_without_embeddings", "size_mb", "latency_ms", "rows_per_second")
    report["models"][0] |= {"name": "answers.jsonl", "kind": "file", "precision": None, **dict.fromkeys(size)}
    for line in report["models"]:
        line["speedup_over_teacher"] = None
    return report


@pytest.fixture
def silent_report(file_report: dict[str, Any]) -> dict[str, Any]:
    """The same with a file that says nothing of the judged rows."""
    quality = ("accuracy", "accuracy_sd", "accuracy_ci95", "macro_f1", "ece", "per_class", "teacher_agreement")
    file_report["models"][0] |= {"judged_rows": 0, **dict.fromkeys(quality)}
    for line in file_report["models"]:
        line["teacher_agreement"] = None
    return file_report
