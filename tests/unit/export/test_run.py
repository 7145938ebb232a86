from collections.abc import Callable
from contextlib import nullcontext
from pathlib import Path

import pytest
from safetensors.torch import load_file, save_file

from limbeck.artifacts.manifest import Key, read_manifest, write_manifest
from limbeck.artifacts.model_folder import ModelFolder, open_model
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.student_folder import StudentFolder
from limbeck.errors import CheckpointDamaged
from limbeck.export import bilstm_graph, export_student, transformer_graph
from limbeck.export.parity import ExportRefused
from limbeck.progress import SilentReporter
from limbeck.recipe.export import Export, Precision

MakeStudent = Callable[..., StudentFolder]
ToyRows = tuple[tuple[str, str], ...]
KEY = Key(section={"precision": "fp32"}, inputs={"student": "abc"})


def rows_of(toy_rows: ToyRows, *, pair: bool) -> Rows:
    texts = [text for text, _ in toy_rows]
    return Rows.of(ids=texts, texts=texts, pairs=[text[:20] for text in reversed(texts)] if pair else None)


def exported(student: StudentFolder, rows: Rows, out: Path, *, precision: Precision = "fp32") -> ModelFolder:
    return export_student(
        Export(), student=student, rows=rows, precision=precision, out=out, key=KEY, reporter=SilentReporter()
    )


@pytest.mark.parametrize("precision", ["fp32", "int8"])
@pytest.mark.parametrize(("pooling", "pair"), [("max", False), ("last", False), ("max", True), ("last", True)])
def test_every_shape_of_student_passes_the_default_limits(
    tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows, precision: Precision, pooling: str, pair: bool
) -> None:
    student = make_student(tmp_path / "student", pooling=pooling, pair=pair)

    model = exported(student, rows_of(toy_rows, pair=pair), tmp_path / "model", precision=precision)

    facts = open_model(model.folder).facts()
    assert (facts.precision, facts.pair) == (precision, pair)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_student_of_several_labels_a_row_passes_the_default_limits(
    tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows, precision: Precision
) -> None:
    student = make_student(tmp_path / "student", multi_label=True)

    model = exported(student, rows_of(toy_rows, pair=False), tmp_path / "model", precision=precision)

    assert open_model(model.folder).facts().multi_label


@pytest.mark.parametrize("pair", [False, True])
@pytest.mark.parametrize("family", ["bert", "distilbert", "roberta", "electra", "mpnet"])
def test_transformers_pass_the_default_limit(
    tmp_path: Path, make_framed_student: MakeStudent, toy_rows: ToyRows, family: str, pair: bool
) -> None:
    student = make_framed_student(tmp_path / "student", family=family, pair=pair)

    model = exported(student, rows_of(toy_rows, pair=pair), tmp_path / "model")

    facts = open_model(model.folder).facts()
    assert (facts.kind, facts.tokenizer, facts.pair) == ("transformer", "framed", pair)


def test_a_weight_that_is_missing_is_not_made_up(
    tmp_path: Path, make_framed_student: MakeStudent, toy_rows: ToyRows
) -> None:
    """Both sides of the comparison would have the same random numbers."""
    student = make_framed_student(tmp_path / "student")
    weights = load_file(student.folder / "model.safetensors")
    del weights["classifier.weight"]
    save_file(weights, student.folder / "model.safetensors", metadata={"format": "pt"})

    with pytest.raises(CheckpointDamaged, match=r"classifier\.weight"):
        exported(student, rows_of(toy_rows, pair=False), tmp_path / "model")


@pytest.mark.parametrize(("pair", "multi_label"), [(False, False), (True, False), (False, True)])
def test_transformers_become_int8(
    tmp_path: Path, make_framed_student: MakeStudent, toy_rows: ToyRows, pair: bool, multi_label: bool
) -> None:
    """The toy's narrow layers average little rounding away, and its random logits lie close together."""
    student = make_framed_student(tmp_path / "student", pair=pair, multi_label=multi_label)

    model = export_student(
        Export(int8_agreement=0.8),
        student=student,
        rows=rows_of(toy_rows, pair=pair),
        precision="int8",
        out=tmp_path / "model",
        key=KEY,
        reporter=SilentReporter(),
    )

    facts = open_model(model.folder).facts()
    assert (facts.precision, facts.multi_label) == ("int8", multi_label)


def test_a_wrong_graph_of_a_transformer_is_refused(
    tmp_path: Path, make_framed_student: MakeStudent, toy_rows: ToyRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = make_framed_student(tmp_path / "student")
    monkeypatch.setattr(transformer_graph, "_scaled", lambda _encoder, layer: layer.query)

    with pytest.raises(ExportRefused, match="fp32"):
        exported(student, rows_of(toy_rows, pair=False), tmp_path / "model")

    assert [path.name for path in tmp_path.iterdir()] == ["student"]


def test_the_folder_holds_graph_tokenizer_card_and_manifest_and_nothing_else(
    tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows
) -> None:
    student = make_student(tmp_path / "student")

    model = exported(student, rows_of(toy_rows, pair=False), tmp_path / "model")

    files = {path.name for path in model.folder.iterdir()}
    assert files == {"model.onnx", "tokenizer.json", "model.json", "profile.json", "manifest.json"}
    assert model.tokenizer.read_bytes() == (student.folder / "tokenizer.json").read_bytes()
    assert read_manifest(model.folder, kind="model").key == KEY


def test_the_card_has_the_facts_of_the_student(tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows) -> None:
    student = make_student(tmp_path / "student")

    model = exported(student, rows_of(toy_rows, pair=False), tmp_path / "model", precision="int8")

    card = model.facts()
    assert card.name == "bilstm-int8"
    facts = ("kind", "labels", "language", "max_length", "parameters", "parameters_without_embeddings", "multi_label")
    for fact in facts:
        assert getattr(card, fact) == getattr(student.facts, fact)


@pytest.mark.parametrize("precision", ["fp32", "int8"])
def test_a_wrong_graph_is_refused_and_nothing_of_it_stays(
    tmp_path: Path,
    make_student: MakeStudent,
    toy_rows: ToyRows,
    monkeypatch: pytest.MonkeyPatch,
    precision: Precision,
) -> None:
    student = make_student(tmp_path / "student")
    monkeypatch.setitem(bilstm_graph.ONNX_GATES, "lstm", "ifog")

    with pytest.raises(ExportRefused, match=precision):
        exported(student, rows_of(toy_rows, pair=False), tmp_path / "model", precision=precision)

    assert [path.name for path in tmp_path.iterdir()] == ["student"]


@pytest.mark.parametrize("is_wrong", [False, True])
def test_large_logits_are_no_reason_to_refuse_a_file_nor_to_accept_a_wrong_one(
    tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows, monkeypatch: pytest.MonkeyPatch, is_wrong: bool
) -> None:
    student = make_student(tmp_path / "student")
    weights = load_file(student.folder / "model.safetensors")
    weights = {name: one * (10_000 if name.startswith("classifier.") else 1) for name, one in weights.items()}
    save_file(weights, student.folder / "model.safetensors", metadata={"format": "pt"})
    write_manifest(student.folder, kind="student", key=KEY)
    student = StudentFolder(student.folder)
    if is_wrong:
        monkeypatch.setitem(bilstm_graph.ONNX_GATES, "lstm", "ifog")

    with pytest.raises(ExportRefused, match="at a scale of") if is_wrong else nullcontext():
        exported(student, rows_of(toy_rows, pair=False), tmp_path / "model")


def test_a_refusal_leaves_an_older_model_in_its_place(
    tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows, monkeypatch: pytest.MonkeyPatch
) -> None:
    student = make_student(tmp_path / "student")
    exported(student, rows_of(toy_rows, pair=False), tmp_path / "model")
    monkeypatch.setitem(bilstm_graph.ONNX_GATES, "lstm", "ifog")

    with pytest.raises(ExportRefused):
        exported(student, rows_of(toy_rows, pair=False), tmp_path / "model")

    assert open_model(tmp_path / "model").facts().name == "bilstm"


def test_two_exports_of_one_student_are_the_same_to_the_byte(
    tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows
) -> None:
    student, rows = make_student(tmp_path / "student"), rows_of(toy_rows, pair=False)

    models = [exported(student, rows, tmp_path / name, precision="int8") for name in ("one", "two")]

    assert len({read_manifest(model.folder, kind="model").fingerprint for model in models}) == 1


def test_only_our_own_line_is_printed(
    tmp_path: Path, make_student: MakeStudent, toy_rows: ToyRows, capfd: pytest.CaptureFixture[str]
) -> None:
    class Listening(SilentReporter):
        notes: list[str] = []  # noqa: RUF012  # one listener, one list

        def note(self, text: str, *, style: str = "") -> None:
            del style
            self.notes.append(text)

    student = make_student(tmp_path / "student")
    capfd.readouterr()

    export_student(
        Export(),
        student=student,
        rows=rows_of(toy_rows, pair=False),
        precision="int8",
        out=tmp_path / "model",
        key=KEY,
        reporter=Listening(),
    )

    assert capfd.readouterr() == ("", "")
    assert len(Listening.notes) == 1
    assert "bilstm-int8" in Listening.notes[0]
    assert "on 200 rows" in Listening.notes[0]
