"""`limbeck package` writes a complete folder, from the one version of the runtime, and refuses what it cannot."""

import hashlib
import io
import json
import re
import tarfile
from pathlib import Path

import pytest
from typer.testing import CliRunner

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.model_folder import ModelFolder, copy_model, open_model
from limbeck.cli import app
from limbeck.errors import PathUnusable
from limbeck.packaging import onnxruntime_web, site
from limbeck.packaging.javascript import NotForBrowsers
from limbeck.packaging.onnxruntime_web import RuntimeUnavailable, is_kept, kept_runtime, put_runtime
from limbeck.packaging.site import PackageWrong, package, package_name
from limbeck.packaging.vectors import check_vectors, read_vectors
from tests.unit.packaging.conftest import KEY

NO_ADDRESS = r"^\s*//.*|[;{] // .*|/\*.*|`file://"  # comments, and the disk
VERSION_20 = '#!/bin/sh\n[ "$1" = --version ] && echo v20.1.0 && exit\n'
CONTENT = b"export default {};"


@pytest.fixture(autouse=True)
def small_runtime(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Files of a few bytes in place of those of 14 MB; no Node, no npm, and an empty cache."""
    monkeypatch.setattr(
        onnxruntime_web, "FILES", dict.fromkeys(onnxruntime_web.FILES, hashlib.sha256(CONTENT).hexdigest())
    )
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setenv("PATH", str(tmp_path))


@pytest.fixture
def archive(tmp_path: Path) -> Path:
    """As npm packs it."""
    return written_archive(tmp_path / "onnxruntime-web.tgz", CONTENT)


def written_archive(path: Path, content: bytes) -> Path:
    with tarfile.open(path, "w:gz") as packed:
        for name in onnxruntime_web.FILES:
            entry = tarfile.TarInfo(f"package/dist/{name}")
            entry.size = len(content)
            packed.addfile(entry, io.BytesIO(content))
    return path


def changed_tokenizer(model: Path, folder: Path, change: dict[str, object]) -> Path:
    with written_atomically(folder, kind="model", key=KEY) as scratch:
        copy_model(ModelFolder(model), scratch)
        state = json.loads((scratch / "tokenizer.json").read_text(encoding="utf-8"))
        (scratch / "tokenizer.json").write_text(json.dumps(state | change), encoding="utf-8")
    return folder


def test_the_folder_has_all_that_a_page_and_node_need(blend_model: Path, archive: Path, tmp_path: Path) -> None:
    found = package(blend_model, out=tmp_path / "site", runtime=archive)

    folder = found.folder
    linked = re.findall(r'(?:href|src)="([^":]+)"', (folder / "index.html").read_text(encoding="utf-8"))
    imported = [
        (script.parent / name).resolve()
        for script in folder.rglob("*.*js")
        for name in re.findall(r'from "(\.[^"]+)"', script.read_text(encoding="utf-8"))
    ]
    assert found.checked is None
    assert len(imported) > 10
    assert [path for path in [*(folder / name for name in linked), *imported] if not path.is_file()] == []
    assert open_model(folder / "model").facts() == open_model(blend_model).facts()
    assert check_vectors(read_vectors(folder / "vectors.json", folder=folder / "model"), blend_model).conforms
    assert json.loads((folder / "package.json").read_text(encoding="utf-8"))["name"] == "blend"
    assert sorted(path.name for path in (folder / "runtime").iterdir()) == sorted(onnxruntime_web.FILES)
    assert not list(tmp_path.glob("*.partial"))


def test_no_other_site_is_asked(word_model: Path, archive: Path, tmp_path: Path) -> None:
    folder = package(word_model, out=tmp_path / "site", runtime=archive).folder

    own = [path for path in folder.rglob("*") if path.suffix in (".html", ".js", ".mjs", ".css") and path.is_file()]
    assert len(own) > 12
    code = {path.name: re.sub(NO_ADDRESS, "", path.read_text(encoding="utf-8"), flags=re.M) for path in own}
    assert [name for name, text in code.items() if "//" in text] == []


def test_an_earlier_package_is_replaced_and_other_folders_are_not(
    word_model: Path, ngram_model: Path, archive: Path, tmp_path: Path
) -> None:
    package(word_model, out=tmp_path / "site", runtime=archive)
    (tmp_path / "site" / ".git").mkdir()
    package(ngram_model, out=tmp_path / "site")  # the runtime is kept
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "letters.txt").write_text("dear", encoding="utf-8")

    assert ModelFolder(tmp_path / "site" / "model").facts().kind == "ngrams"
    assert (tmp_path / "site" / ".git").is_dir()
    for place in (tmp_path / "mine", archive):
        with pytest.raises(PathUnusable):
            package(word_model, out=place, runtime=archive)
    assert (tmp_path / "mine" / "letters.txt").is_file()


def test_models_that_javascript_cannot_read_are_refused(word_model: Path, archive: Path, tmp_path: Path) -> None:
    split = {"type": "Split", "pattern": {"Regex": "[0-9]+"}, "behavior": "Isolated", "invert": False}
    changes: dict[str, dict[str, object]] = {
        "jieba": {"segmenter": "jieba"},
        "Nmt": {"normalizer": {"type": "Sequence", "normalizers": [{"type": "Nmt"}]}},
        r"\[0-9\]\+": {"pre_tokenizer": split},
        "Other": {"model": {"type": "Other"}},
    }

    for number, (message, change) in enumerate(changes.items()):
        model = changed_tokenizer(word_model, tmp_path / str(number), change)
        with pytest.raises(NotForBrowsers, match=message):
            package(model, out=tmp_path / "site", runtime=archive)
    assert not (tmp_path / "site").exists()


def test_without_npm_it_is_said_how_to_get_the_runtime(word_model: Path, tmp_path: Path) -> None:
    found = CliRunner().invoke(app, ["package", str(word_model), "--out", str(tmp_path / "site")])

    assert found.exit_code == 2
    assert "npm pack onnxruntime-web@" in found.output
    assert "--onnxruntime-web" in found.output
    assert list(tmp_path.iterdir()) == []


def test_only_the_one_version_is_taken(archive: Path, tmp_path: Path) -> None:
    other = written_archive(tmp_path / "other.tgz", b"something else")
    broken = tmp_path / "broken.tgz"
    broken.write_bytes(b"no archive")

    for source in (other, broken, tmp_path / "missing.tgz", tmp_path):
        with pytest.raises(RuntimeUnavailable):
            put_runtime(tmp_path / "runtime", source=source)
    assert not is_kept()
    put_runtime(tmp_path / "runtime", source=archive)
    assert is_kept()
    (kept_runtime() / next(iter(onnxruntime_web.FILES))).write_bytes(b"changed")
    assert not is_kept()


def test_npm_is_asked_for_the_version(archive: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    npm = tmp_path / "npm"
    npm.write_text(f'#!/bin/sh\n[ "$2" = onnxruntime-web@{onnxruntime_web.VERSION} ] && /bin/cp {archive} "$4/a.tgz"\n')
    npm.chmod(0o755)
    put_runtime(tmp_path / "runtime")
    assert is_kept()

    npm.write_text("#!/bin/sh\necho npm error code ENOTFOUND >&2; exit 1\n")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "other"))
    with pytest.raises(RuntimeUnavailable, match="ENOTFOUND"):
        put_runtime(tmp_path / "runtime")


def test_a_package_that_answers_otherwise_is_not_written(word_model: Path, archive: Path, tmp_path: Path) -> None:
    node = tmp_path / "node"
    answer = '"rows": 9, "otherTokens": 2, "otherLabels": 0, "largestDifference": 0.5, "msPerRow": 1'
    node.write_text(f"{VERSION_20}echo '{{{answer}, \"conforms\": false}}'\n")
    node.chmod(0o755)
    with pytest.raises(PackageWrong, match="2 with other tokens"):
        package(word_model, out=tmp_path / "site", runtime=archive)
    node.write_text(f"{VERSION_20}echo 'SyntaxError: old' >&2; exit 1\n")
    with pytest.raises(PackageWrong, match="SyntaxError: old"):
        package(word_model, out=tmp_path / "site", runtime=archive)

    assert not (tmp_path / "site").exists()
    node.write_text("#!/bin/sh\necho v18.20.1\n")
    assert package(word_model, out=tmp_path / "site", runtime=archive, rows=9).checked is None


def test_names_are_such_that_npm_takes_them() -> None:
    assert package_name("Größe: Modell 2!") == "gr-e-modell-2"
    assert package_name("评论") == "model"
    assert site.package_name("bilstm-int8") == "bilstm-int8"
