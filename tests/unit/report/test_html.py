"""The page: everything in it, nothing asked of the network, nothing from outside taken for markup."""

import re
from html import unescape
from html.parser import HTMLParser
from typing import Any

from limbeck.report import sentences, wording
from limbeck.report.html import page


class Outline(HTMLParser):
    """Collects what a page would fetch or run, and its table rows."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.fetched: list[str] = []
        self.tags: list[str] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        for name, value in attributes:
            if name in ("src", "href", "xlink:href", "data", "action") and not (value or "").startswith("#"):
                self.fetched.append(f"{tag} {name}={value}")


def test_the_page_asks_nothing_of_the_network_and_runs_nothing(report: dict[str, Any]) -> None:
    html = page(report)
    outline = Outline(html)

    assert outline.fetched == []
    assert not {"script", "link", "iframe", "img"} & set(outline.tags)
    assert not re.search(r"@import|url\((?!#)", html)


def test_the_page_holds_verdict_models_plots_and_machine(report: dict[str, Any]) -> None:
    html = page(report)
    text = unescape(html)

    assert wording.verdict(report) in text
    assert Outline(html).tags.count("svg") == 4
    for fact in ("A Processor", "6,000 rows", "negative, positive", "92.8", "models/bilstm-int8", "more.txt"):
        assert fact in text


def test_text_from_outside_is_escaped(report: dict[str, Any]) -> None:
    report["run"] = "<script>alert(1)</script>"
    report["corpus"]["labels"] = ["<b>no</b>", "y&s"]
    report["models"][0]["name"] = "<i>teacher</i>"

    html = page(report)

    assert not {"script", "i"} & set(Outline(html).tags)
    assert "&lt;script&gt;alert(1)" in html
    assert "y&amp;s" in html


def test_the_page_adapts_to_the_reader(report: dict[str, Any]) -> None:
    html = page(report)

    assert "prefers-color-scheme: dark" in html
    assert 'name="viewport"' in html


def test_judging_on_dev_is_admitted(report: dict[str, Any]) -> None:
    assert "a little too good" not in page(report)

    report |= {"judged_split": "dev"}

    assert "a little too good" in page(report)


def test_overlap_that_was_not_removed_is_at_the_top(report: dict[str, Any]) -> None:
    report["corpus"]["overlap"] |= {"mode": "report", "splits": {"test": {"rows": 801, "found": 11, "verbatim": 9}}}

    html = page(report)

    assert html.index("11 of 801 test rows appear in train") < html.index('<h2 id="quality">')


def test_without_transfer_text_the_page_says_what_it_would_bring(report: dict[str, Any]) -> None:
    report["transfer"] = None

    assert "[transfer]" in page(report)


def test_a_model_of_pairs_is_shown_with_pairs(report: dict[str, Any]) -> None:
    report["corpus"]["pair"] = True

    assert 'model.predict([("a text", "another text")])' in unescape(page(report))


def test_a_page_with_a_teacher_without_cost_compares_no_cost(file_report: dict[str, Any]) -> None:
    html = unescape(page(file_report))

    assert "the teacher's speed" not in html
    assert "None" not in html
    assert "it is a file of answers" in html
    assert html.count('class="tile"') == 3


def test_a_page_with_a_teacher_without_labels_says_so_and_counts_the_rows_of_every_class(
    silent_report: dict[str, Any],
) -> None:
    html = unescape(page(silent_report))

    assert "Note: the teacher has no labels for the 801 test rows" in html
    assert "None" not in html
    assert '<td class="words name">negative</td><td>92.8</td><td>92.8</td><td>92.8</td><td>400</td>' in html


def test_an_ensembles_time_is_explained(report: dict[str, Any]) -> None:
    assert "sum over its members" not in page(report)

    report["models"][0] |= {"kind": "ensemble", "members": ["one", "two"]}

    assert "sum over its members" in page(report)


def test_where_a_row_may_have_several_labels_the_page_is_about_exact_matches(full_report: dict[str, Any]) -> None:
    full_report["corpus"]["multi_label"] = True
    full_report["worst_errors"][0] |= {"label": ["negative", "positive"], "student": [], "teacher": ["positive"]}

    html = unescape(page(full_report))

    assert "<th>exact match</th>" in html
    assert "Exact match against time" in html
    assert "all of them are right" in html
    assert "accuracy" not in html.lower()
    assert '<td data-head="true">negative, positive</td>' in html
    assert '<td data-head="student" class="wrong">none ' in html


def test_a_report_without_students_is_still_a_page(report: dict[str, Any]) -> None:
    del report["models"][1:]
    report["curves"] = []

    assert Outline(page(report)).tags.count("svg") == 2  # the teacher by its time, and by its size


def test_the_same_report_gives_the_same_page(report: dict[str, Any]) -> None:
    assert page(report) == page(report)


def test_everything_that_was_found_out_is_on_the_page(full_report: dict[str, Any]) -> None:
    html = page(full_report)

    plots = set(re.findall(r'<svg id="plot-([\w-]+)"', html))
    assert plots == {
        *("latency", "size", "lengths", "confusion-teacher", "confusion-student", "reliability", "cascade"),
        *("curve", "loss", "terms"),
    }
    assert set(re.findall(r'<table id="table-(\w+)"', html)) == {
        *("quality", "relative", "cost", "throughput", "classes", "errors"),
    }
    assert str(sentences.cascade(full_report)) in unescape(html)
    assert str(sentences.calibration(full_report)) in unescape(html)
    assert "None" not in html


def test_every_link_of_the_contents_leads_somewhere(report: dict[str, Any]) -> None:
    for html in (page(report), page(filled_by_hand(report))):
        links = set(re.findall(r'<a href="#([\w-]+)"', html))

        assert links
        assert links <= set(re.findall(r'\bid="([\w-]+)"', html))


def filled_by_hand(report: dict[str, Any]) -> dict[str, Any]:
    """A report with one of the new parts only."""
    return {**report, "worst_errors": [error("a text")]}


def error(text: str, **changes: Any) -> dict[str, Any]:
    """A row on which student and teacher disagree."""
    row = {"text": text, "pair": None, "label": "positive", "student": "negative", "teacher": "positive"}
    return {**row, "student_probability": 0.9, "teacher_probability": 0.8, **changes}


def test_rows_on_which_student_and_teacher_disagree_are_shown_escaped(report: dict[str, Any]) -> None:
    report["worst_errors"] = [error("<script>alert(1)</script>"), error("one", pair="two")]

    html = page(report)

    assert "script" not in Outline(html).tags
    assert "&lt;script&gt;alert(1)" in html
    assert "one ⇄ two" in html
    assert 'class="wrong">negative <small>90 %</small>' in html
    assert 'class="right">positive <small>80 %</small>' in html


def test_a_long_text_opens_on_demand_and_loses_nothing(report: dict[str, Any]) -> None:
    words = " ".join(f"word{number}" for number in range(200))
    report["worst_errors"] = [error(words), error("字" * 500)]

    html = page(report)

    opened = re.findall(r"<summary>([^<]+)<span class=\"dots\"> …</span></summary>([^<]+)</details>", html)
    assert ["".join(parts) for parts in opened] == [words, "字" * 500]
    assert not opened[0][0].endswith("wor")


def test_many_classes_are_folded_away_and_their_mistakes_reported(report: dict[str, Any]) -> None:
    labels = [f"class{number}" for number in range(40)]
    report["corpus"] |= {"labels": labels, "class_weights": [0.5 + number for number in range(40)]}
    for line in report["models"]:
        line["per_class"] = [
            {"label": label, "precision": 0.5, "recall": 0.5, "f1": 0.5, "support": 9} for label in labels
        ]
        line["confusion"] = [
            [5 if true == said else 2 * (true == said + 1) for said in range(40)] for true in range(40)
        ]

    html = page(report)

    assert "<summary>All 40 classes</summary>" in html
    assert "the 12 classes with the lowest F1 … and 28 more" in html
    assert "class11 … and 28 more" in html  # the names
    assert "11.5, … and 28 more" in html  # the weights
    assert html.count("<td>class39</td>") <= 1  # in the folded table
    assert "class1 predicted as class0: 2 rows" in html
    assert "plot-confusion" not in html


def test_the_page_is_about_the_best_file_and_starts_its_table_with_what_people_need(
    rival_report: dict[str, Any],
) -> None:
    text = unescape(page(rival_report))

    headings = re.findall(r"<th[^>]*>([^<]*)</th>", text[text.index('id="table-quality"') :])
    assert headings[:5] == ["model", "accuracy", "against tfidf", "a text", "MB"]
    assert "accuracy of bilstm-int8, the best on dev; tfidf 89.0" in text
    assert "printf '%s\\n' 'a story with a heart' | limbeck predict models/best" in text
    assert 'limbeck.load("models/best")' in text
    assert 'model.predict(["a story with a heart"])' in text
    assert 'class="loss"' not in text


def test_a_loss_is_marked_on_the_page(rival_report: dict[str, Any]) -> None:
    rival_report["models"][4]["gain_over_rival"] = {"accuracy": -0.034, "ci95": [-0.05, -0.018]}

    assert '<strong class="loss">tfidf, ten lines of scikit-learn, beats bilstm-int8' in page(rival_report)
