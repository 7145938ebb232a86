"""The model card: metadata that the Hub can read, numbers with what they are worth, and the limits."""

from typing import Any

import pytest
from huggingface_hub import ModelCard

from limbeck.report.model_card import model_card

yaml: Any = pytest.importorskip("yaml")  # comes with transformers, and without types
OBJECTIVE = ["- `logit_mse` (weight 1): as the teacher."]


def card(report: dict[str, Any], name: str = "bilstm-int8") -> str:
    return model_card(report, name, objective=OBJECTIVE, max_length=256)


def section(text: str, heading: str) -> str:
    """The text below a heading."""
    return text.partition(f"## {heading}\n")[2].partition("\n## ")[0]


def test_the_metadata_is_what_the_hub_reads(full_report: dict[str, Any]) -> None:
    text = card(full_report)

    data = yaml.safe_load(text.split("---\n")[1])
    assert data["language"] == "en"
    assert data["pipeline_tag"] == "text-classification"
    assert data["library_name"] == "limbeck"
    assert {"knowledge-distillation", "onnx", "bilstm"} <= set(data["tags"])
    (result,) = data["model-index"][0]["results"]
    assert {metric["type"]: metric["value"] for metric in result["metrics"]} == {"accuracy": 0.926, "f1": 0.924}


def test_the_library_of_the_hub_finds_the_results(full_report: dict[str, Any]) -> None:
    data: Any = ModelCard(card(full_report)).data

    assert [(result.dataset_name, result.metric_type, result.metric_value) for result in data.eval_results] == [
        ("toy", "accuracy", 0.926),
        ("toy", "f1", 0.924),
    ]


def test_names_cannot_break_the_metadata(full_report: dict[str, Any]) -> None:
    full_report["corpus"]["name"] = 'a: "b"\n- {x} 评论 #'

    data = yaml.safe_load(card(full_report).split("---\n")[1])

    assert data["model-index"][0]["results"][0]["dataset"]["name"] == 'a: "b"\n- {x} 评论 #'


def test_norwegian_stays_a_language(full_report: dict[str, Any]) -> None:
    """An unquoted `no` is false in YAML."""
    full_report["corpus"]["language"] = "no"

    assert yaml.safe_load(card(full_report).split("---\n")[1])["language"] == "no"


def test_the_card_tells_data_teacher_objective_numbers_and_cost(full_report: dict[str, Any]) -> None:
    full_report["models"][3] |= {"seeds": [0, 1, 2], "shipped_seed": 1, "shipped_accuracy": 0.931}

    text = card(full_report)

    assert "distilled from bert-base-uncased" in text
    assert "| bilstm-int8 | 92.6" in section(text, "Numbers")
    assert "Mean and spread over 3 seeds (0, 1, 2); the copy in this folder has 93.1 %." in section(text, "Numbers")
    assert "Distilling gained 7.2 points" in section(text, "Numbers")
    assert "no difference beyond noise against the teacher" in section(text, "Numbers")
    assert "6,000 train, 500 dev, 801 test rows; English" in section(text, "Data")
    assert "1,100 rows of unlabelled text" in section(text, "Data")
    assert "109M parameters); 95.0 % on dev" in section(text, "Teacher")
    assert OBJECTIVE[0] in section(text, "Objective")
    assert "p99 0.756 ms" in section(text, "Size and speed")
    assert "Measured on A Processor, 1 thread" in section(text, "Size and speed")
    assert 'limbeck.load("bilstm-int8")' in section(text, "How to use")


def test_the_numbers_leave_other_files_out(full_report: dict[str, Any]) -> None:
    lines = [line.split(" | ")[0] for line in section(card(full_report), "Numbers").splitlines() if "| " in line]

    assert lines == ["| model", "| bert-base-uncased", "| bilstm-alone", "| bilstm-int8"]


def test_the_baselines_card_says_that_it_had_no_teacher(full_report: dict[str, Any]) -> None:
    text = card(full_report, "bilstm-alone")

    assert "trained alone, without a teacher" in text
    assert "without the teacher" in section(text, "Objective")
    assert OBJECTIVE[0] not in text


def test_limits_name_the_rows_the_language_and_the_length(full_report: dict[str, Any]) -> None:
    limits = section(card(full_report), "Limits")

    assert "Judged on 801 test rows of toy only" in limits
    assert "For English texts; it reads the first 256 tokens of a text" in limits
    assert limits.count("\n- ") == 2


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"seed_count": 1}, "One seed was trained"),
        ({"gain_over_baseline": {"accuracy": 0.001, "ci95": [-0.01, 0.012]}}, "interval is −1.0 to +1.2 points"),
    ],
)
def test_numbers_that_may_be_luck_are_limits(full_report: dict[str, Any], change: dict[str, Any], words: str) -> None:
    full_report["models"][3] |= change

    assert words in section(card(full_report), "Limits")


def test_leaks_and_dev_are_limits(full_report: dict[str, Any]) -> None:
    full_report["judged_split"] = "dev"
    full_report["corpus"]["overlap"] |= {"mode": "report", "splits": {"dev": {"rows": 500, "found": 3, "verbatim": 3}}}

    limits = section(card(full_report), "Limits")

    assert "a little too good" in limits
    assert "- 3 of 500 dev rows appear in train" in limits


def test_a_teacher_without_cost_is_reported_without(file_report: dict[str, Any]) -> None:
    text = card(file_report)

    assert "None" not in text
    assert "answers.jsonl (file); 95.0 % on dev." in section(text, "Teacher")
    assert "the teacher's speed" not in text


def test_pairs_and_label_sets_are_reported(full_report: dict[str, Any]) -> None:
    full_report["corpus"] |= {"pair": True, "multi_label": True}

    text = card(full_report)

    assert "gives pairs of texts any number of labels of: `negative`, `positive`" in text
    assert 'model.predict([("a text", "another text")])' in text
    assert yaml.safe_load(text.split("---\n")[1])["model-index"][0]["results"][0]["metrics"][0]["name"] == "exact match"


def test_an_old_report_has_a_card_too(report: dict[str, Any]) -> None:
    assert "None" not in card(report)


def test_the_card_of_a_blend_says_what_it_was_made_from(full_report: dict[str, Any]) -> None:
    entry = full_report["models"][-1]
    blend = {**entry, "name": "blend-int8", "kind": "blend", "members": ["bilstm-int8", "bag-int8"]}
    report = {**full_report, "models": [*full_report["models"], blend]}

    card = model_card(report, "blend-int8", objective=[], max_length=16)

    assert "A blend of bilstm-int8 and bag-int8 (" in card
