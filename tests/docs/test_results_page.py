"""The page of results is written from what was run, and leaves out what was not."""

import json
import shutil
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from limbeck.recipe.load import load_recipe

ROOT = Path(__file__).resolve().parents[2]


def module(name: str) -> ModuleType:
    """A script of benchmarks/, which is no part of the package."""
    return import_module(f"benchmarks.{name}")


def entry(name: str, accuracy: float, **more: Any) -> dict[str, Any]:
    """A model as a line of a table holds it."""
    return {
        "name": name,
        "kind": "bilstm",
        "accuracy": accuracy,
        "accuracy_per_seed": [accuracy - 0.01, accuracy + 0.01],
        "accuracy_sd": 0.0141,
        "macro_f1": accuracy,
        "teacher_agreement": 0.95,
        "parameters": 3_000_000,
        "parameters_without_embeddings": 600_000,
        "size_mb": 3.1,
        "latency_ms": {"p50": 0.2, "p95": 0.3},
        "speedup_over_teacher": 300.0,
        "f1_of_class": {"negative": accuracy, "positive": accuracy},
        **more,
    }


def line(accuracy: float) -> dict[str, Any]:
    """A line of a table."""
    gain = {"accuracy": accuracy - 0.85, "ci95": [0.01, 0.09]}
    return {
        "command": "limbeck run sst2-text",
        "machine": "A Processor, 2 cores",
        "rows": {"train": 67_349, "dev": 872},
        "judged_split": "dev",
        "transfer_rows": 371_831,
        "copies": 0,
        "teacher": entry("all-mpnet-base-v2", 0.95, speedup_over_teacher=1.0),
        "alone": entry("bilstm-alone", 0.85),
        "student": entry(
            "bilstm", accuracy, gain_over_baseline=gain, mcnemar_against_alone={"p": 0.0001, "test": "exact"}
        ),
        "int8": entry("bilstm-int8", accuracy - 0.001),
        "teacher_int8": None,
        "seconds": {"teacher": 61.0, "students": 120.4},
    }


def write(root: Path, table: str, lines: dict[str, Any]) -> None:
    """The numbers of a table, where the page looks for them."""
    merge = module("table_runs").merge_line
    for name, numbers in lines.items():
        merge(root / "benchmarks" / "results" / "tables" / f"{table}.json", table, name, numbers)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    (tmp_path / "docs").mkdir()
    return tmp_path


def page_of(root: Path) -> str:
    """The page as it is written."""
    module("results_page").write_page(root)
    return (root / "docs" / "results.md").read_text(encoding="utf-8")


def test_a_line_has_its_numbers_its_command_and_those_of_others_beside_it(root: Path) -> None:
    write(root, "sst2", {"text": line(0.926)})

    page = page_of(root)

    assert "| + unlabelled text | 92.6 ± 1.4 | 91.6 93.6 | 92.6 | 85.0 | +7.6 (+1.0 to +9.0) | <0.001 | 95.0 |" in page
    assert "| + unlabelled text | `limbeck run sst2-text` | teacher 61, students 120 |" in page
    assert "Tang et al. 2019" in page
    assert "−8.2" in page, "the relative change of the student alone against its like with text"


def test_pictures_are_written_beside_the_page_and_shown_on_it(root: Path) -> None:
    write(root, "sst2", {"text": line(0.926)})

    page = page_of(root)

    picture = (root / "docs" / "results" / "sst2.svg").read_text(encoding="utf-8")
    assert "](results/sst2.svg)" in page
    assert "MKD-LSTM" in picture
    assert ">text<" in picture


def test_every_teacher_is_a_line_of_the_picture(root: Path) -> None:
    taught_by_three, once_more = line(0.90), line(0.89)
    taught_by_three["teacher"] = entry("3 × m3e", 0.96, speedup_over_teacher=1.0)
    once_more["teacher"] = {**once_more["teacher"], "accuracy": 0.94}
    write(root, "tnews-15", {"rows": once_more, "text": line(0.88), "three": taught_by_three})

    page_of(root)

    picture = (root / "docs" / "results" / "tnews-15.svg").read_text(encoding="utf-8")
    assert picture.count(">all-mpnet-base-v2<") == picture.count(">3 × m3e<") == 1
    assert picture.count("stroke: #d9822b") == 3 + 2, "two fine-tunings of the one, one of the other, and their names"


def test_what_was_not_run_is_named_on_the_terminal_and_named_beside_what_was(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write(root, "sst2", {"text": line(0.926)})

    page = page_of(root)

    said = capsys.readouterr().err
    assert "not run yet: sst2:tang" in said
    assert "not run yet: imdb:text" in said
    (missing,) = [line for line in page.splitlines() if line.startswith("- Not run: ")]
    assert "Tang's student, copies of the rows; " in missing
    assert "+ unlabelled text;" not in missing
    assert "## IMDB" not in page


@pytest.mark.parametrize(("accuracy", "said"), [(0.92, "**Not matched**: PaddleNLP"), (0.94, "is not below: Paddle")])
def test_the_page_says_whether_a_published_number_was_reached(root: Path, accuracy: float, said: str) -> None:
    write(root, "chnsenticorp", {"text": line(accuracy)})

    assert said in page_of(root)


def test_a_line_of_three_teachers_is_shown_where_it_was_run_and_with_their_own_accuracy(root: Path) -> None:
    write(root, "tnews-5", {"text": line(0.85)})
    before = page_of(root)
    three = {**line(0.86), "teacher": entry("3 × all-mpnet-base-v2", 0.955)}
    write(root, "tnews-5", {"three": three})

    after = page_of(root)

    assert "Teacher: all-mpnet-base-v2." in before
    assert "Three teachers" not in before
    assert "Teachers: all-mpnet-base-v2 (95.0) and 3 × all-mpnet-base-v2 (95.5)." in after
    assert "fine-tuned again" not in after
    assert after.count("Three teachers are three of these") == 1


def test_lines_are_merged_by_name(root: Path) -> None:
    write(root, "sst2", {"text": line(0.90), "kd": line(0.89)})
    write(root, "sst2", {"text": line(0.92)})

    file = root / "benchmarks" / "results" / "tables" / "sst2.json"
    lines = json.loads(file.read_text(encoding="utf-8"))["lines"]

    assert {name: numbers["student"]["accuracy"] for name, numbers in lines.items()} == {"text": 0.92, "kd": 0.89}


def test_an_ablation_is_a_picture_and_a_line_of_what_its_numbers_say(root: Path) -> None:
    results = root / "benchmarks" / "results" / "ablation_sst2.json"
    results.parent.mkdir(parents=True)
    for setting, accuracy in (("rows:0", 0.88), ("rows:10,000", 0.90), ("rows:all", 0.93), ("loss:logit MSE", 0.93)):
        module("table_runs").merge_line(results, "ablation", setting, line(accuracy))

    page = page_of(root)

    assert "**From 0 to all: +5.0 points; the last step, from 10,000, brings +3.0 of them.**" in page
    assert (root / "docs" / "results" / "ablation-rows.svg").is_file()
    assert "### Loss" not in page, "one setting alone shows nothing"


def test_every_line_names_a_recipe_of_the_package_that_takes_its_changes() -> None:
    tables = module("table_lines").TABLES.values()
    settings = [setting for ablation in module("ablation_lines").ABLATIONS for setting in ablation.settings]
    for one in [*(line for table in tables for line in table.lines), *settings]:
        assert load_recipe(one.recipe, overrides=one.overrides, locate=False)


def test_a_new_run_begins_with_what_a_run_of_the_same_teacher_has_made(tmp_path: Path) -> None:
    runs = module("table_runs")
    lender = tmp_path / "lender"
    for made in ("corpus", "teacher", "report", "students/bilstm/0", "students/bilstm-alone/0"):
        (lender / made).mkdir(parents=True)
        (lender / made / "manifest.json").write_text(made, encoding="utf-8")
    stages = {name: {"seconds": 60.0} for name in ("teacher", "students/bilstm/0", "report")}
    (lender / "run.json").write_text(json.dumps({"stages": stages}), encoding="utf-8")

    runs._borrow(lender, tmp_path / "new", kind="bilstm")
    shutil.rmtree(lender)

    found = {str(path.parent.relative_to(tmp_path / "new")) for path in (tmp_path / "new").rglob("manifest.json")}
    assert found == {"corpus", "teacher", "students/bilstm-alone/0"}
    assert json.loads((tmp_path / "new" / "run.json").read_text(encoding="utf-8"))["stages"] == {
        "teacher": {"seconds": 60.0}
    }


def test_a_method_that_somebody_published_by_name_stands_beside_ours(tmp_path: Path) -> None:
    lines = module("table_lines")
    published = module("published").Published("their project", "dev", "its table", by_line={"spkd": 89.0, "tang": 88.3})
    table = lines.Table("toy", "Toy", [lines.Line(name, "sst2", name) for name in ("spkd", "tang")], [published])

    page = module("results_page").section(table, {"spkd": line(0.868), "tang": line(0.891)}, pictures=tmp_path)

    assert "- **Not matched**: spkd, 86.8 here, 89.0 on dev by their project." in page
    assert "- tang, 89.1 here, 88.3 on dev by their project." in page


def test_what_did_not_help_is_said(tmp_path: Path) -> None:
    lines = module("table_lines")
    names = {"rows": "on rows", "text": "with text", "big": "a big one"}
    table = lines.Table("toy", "Toy", [lines.Line(name, "sst2", shown) for name, shown in names.items()])
    plain, big = {**line(0.90), "transfer_rows": 0}, {**line(0.84), "transfer_rows": 0}
    big["student"] = {**big["student"], "kind": "transformer"}

    page = module("results_page").section(table, {"rows": plain, "text": line(0.88), "big": big}, pictures=tmp_path)

    assert "- **No help here**: with text, 88.0 against 90.0 without (on rows)." in page
    assert "- **No gain**: a big one, 84.0 against 85.0 of the same student alone." in page
    assert "**No gain**: with text" not in page
    assert "Names in it: rows: on rows; text: with text; big: a big one." in page


def test_teachers_that_were_fine_tuned_again_are_all_named(tmp_path: Path) -> None:
    lines = module("table_lines")
    table = lines.Table("toy", "Toy", [lines.Line(name, "sst2", name) for name in ("one", "other")])
    again = line(0.9)
    again["teacher"] = {**again["teacher"], "accuracy": 0.9501}  # another one, though it rounds to the same

    page = module("results_page").section(table, {"one": line(0.9), "other": again}, pictures=tmp_path)

    assert "Teacher: all-mpnet-base-v2. It was fine-tuned again for some lines: 95.0, 95.0." in page


def test_a_command_is_shown_without_settings_of_the_timing() -> None:
    command = "limbeck run sst2 --set evaluation.latency_rows=30 --set 'student.layers=[1, 2]' --set evaluation.x=1"

    shown = module("results_page").without_timing(command)

    assert shown == "limbeck run sst2 --set 'student.layers=[1, 2]'"


def test_the_first_table_has_the_best_recurrent_student_of_every_data_set() -> None:
    lines, glance = module("table_lines"), module("glance")
    table = lines.Table(
        "t",
        "A Task",
        [lines.Line("rows", "r", "on rows"), lines.Line("text", "t", "with text"), lines.Line("big", "b", "a big one")],
    )
    found = {
        name: {
            "rows": {"train": 5000, "dev": 1000},
            "judged_split": "dev",
            "teacher": {"accuracy": 0.93},
            "alone": {"accuracy": 0.85},
            "student": {
                "kind": kind,
                "accuracy": accuracy,
                "gain_over_baseline": {"accuracy": accuracy - 0.85},
                "speedup_over_teacher": 100.0,
            },
            **({"int8": {"accuracy": 0.9, "size_mb": 1.5, "speedup_over_teacher": 400.0}} if name == "text" else {}),
        }
        for name, kind, accuracy in (("rows", "bilstm", 0.88), ("text", "bilstm", 0.91), ("big", "transformer", 0.92))
    }

    page = glance.at_a_glance({"t": (table, found)}, runs_again={"t": {"text": [0.905, 0.912], "rows": [0.5]}})

    # 1.96 √((0.91 · 0.09 + 0.85 · 0.15) / 1000) = 0.0284
    gained = "+6.0 (+3.2 to +8.8)"
    assert f"| A Task | 93.0 | 85.0 | **91.0** (90.5, 91.2) | {gained} | 90.0 | 1.50 | 400× | with text |" in page
    assert page.count("A Task") == 3, "once in that table; two students, the best Bi-LSTM and the other, in the second"
    assert "| A Task | Bi-LSTM, with text | 90.0 | 1.50 | 400× |" in page
    assert "| A Task | a big one | 92.0 |  | 100× |" in page.replace("–", "")
    assert glance.at_a_glance({}) == ""


def test_machines_that_differ_in_their_cores_alone_are_named_once() -> None:
    machines_of = module("page_parts").machines_of

    assert machines_of(["GPU, CPU, 2 cores", "GPU, CPU, 2 cores"]) == "GPU, CPU, 2 cores"
    assert machines_of(["GPU, CPU, 6 cores", "GPU, CPU, 16 cores", "GPU, CPU, 2 cores"]) == "GPU, CPU, 2, 6 or 16 cores"
    assert machines_of(["GPU, CPU, 2 cores", "CPU, 2 cores"]) == "GPU, CPU, 2 cores and CPU, 2 cores"


def test_other_runs_of_a_line_are_shown_beside_it(root: Path) -> None:
    command = "limbeck run sst2-text --until export"
    changed = {"command": f"{command} --set a=1", "dev_accuracy": {"bilstm": [0.5]}}
    again = [{"command": command, "dev_accuracy": {"bilstm": [0.91, 0.93]}}, changed]
    results = root / "benchmarks" / "results"
    write(root, "sst2", {"text": line(0.926)})
    found = {"command": command, "dev_accuracy": {"bilstm": [0.925]}, "again": again}
    (results / "whole_run.json").write_text(json.dumps(found), encoding="utf-8")

    runs = module("gpu_page").other_runs(results, "sst2-text")
    lines = module("table_lines")
    table = lines.Table("toy", "Toy", [lines.Line("text", "sst2-text", "with text")])
    page = module("results_page").section(table, {"text": line(0.926)}, pictures=root, runs_again={"text": runs})

    assert "- with text: other runs of it, each with a teacher of its own, reached 92.5 and 92.0" in page


def test_seconds_of_several_teachers_are_shown(root: Path) -> None:
    seconds = {"teachers": 180.0, "teacher": 1.0, "students": 120.4}
    write(root, "sst2", {"text": {**line(0.926), "seconds": seconds}})

    assert "| teacher 181, students 120 |" in page_of(root)


def test_a_stronger_student_alone_of_another_line_is_named(root: Path) -> None:
    strong, best = line(0.86), line(0.90)
    strong["alone"] = entry("bilstm-alone", 0.89)
    write(root, "tnews-5", {"rows": strong, "text": best})

    page = page_of(root)

    said = (
        "The best student alone is that of another line, logits, on the same rows: 89.0. Over that one, the best line "
    )
    assert said + "gains +1.0." in page
    assert "2 points over the best student alone were the aim, the best line gains +1.0." in page


def test_a_transformer_alone_is_not_what_a_bi_lstm_is_compared_with(root: Path) -> None:
    big = line(0.88)
    big["alone"], big["student"]["kind"] = entry("transformer-alone", 0.92), "transformer"
    write(root, "tnews-5", {"rows": big, "text": line(0.90)})

    page = page_of(root)

    assert "another line" not in page
    assert "**Not reached**" not in page, "its own gain is five points"


def test_an_aim_that_was_missed_is_named(root: Path) -> None:
    write(root, "tnews-15", {"text": line(0.865)})

    page = page_of(root)

    assert "**Not reached**: 2 points over the best student alone were the aim, the best line gains +1.5." in page
    assert "another line" not in page.split("## TNEWS")[1]


def test_the_page_in_the_docs_is_the_one_that_the_committed_numbers_give(tmp_path: Path) -> None:
    shutil.copytree(ROOT / "benchmarks" / "results", tmp_path / "benchmarks" / "results")
    (tmp_path / "docs").mkdir()

    module("results_page").write_page(tmp_path)

    written = (tmp_path / "docs" / "results.md").read_text(encoding="utf-8")
    assert written == (ROOT / "docs" / "results.md").read_text(encoding="utf-8"), (
        "run benchmarks/tables.py --write-page"
    )
    of_other_pages = {"arena.svg", "pruning.svg"}
    assert {file.name for file in (tmp_path / "docs" / "results").iterdir()} == {
        file.name for file in (ROOT / "docs" / "results").iterdir()
    } - of_other_pages


def test_a_teacher_of_another_name_has_a_row_of_its_own(root: Path) -> None:
    taught_by_three = line(0.90)
    taught_by_three["teacher"] = entry("3 × m3e", 0.96, speedup_over_teacher=1.0)
    write(root, "tnews-5", {"text": line(0.88), "three": taught_by_three})

    page = page_of(root)

    assert page.count("| teachers: 3 × m3e |") == 3, "its quality, its cost, and a column of the classes"
    assert "2 teachers: 3 × m3e" in page, "and it is compared"


def test_what_is_to_be_said_of_a_measurement_travels_with_its_numbers(root: Path) -> None:
    write(root, "tnews-5", {"text": {**line(0.88), "remark": "It was timed on a busy machine."}})

    assert "- + headlines without labels: It was timed on a busy machine." in page_of(root)
