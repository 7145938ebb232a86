"""Requirements with hashes, as they are written and read."""

from pathlib import Path

import pytest

from limbeck.errors import FileMissing, FileUnreadable
from limbeck.sbom.pins import Pin, read_pins

ONE, OTHER = "1" * 64, "2" * 64
WHEELS = {
    "a_b-1.0-cp311-cp311-manylinux2014_x86_64.manylinux_2_17_x86_64.whl": ONE,
    "a_b-1.0-cp312-cp312-manylinux_2_28_aarch64.whl": OTHER,
}


def test_what_is_written_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "some.txt"
    pins = [Pin("A.b", "1.0", WHEELS), Pin("c", "2", {"c-2-py3-none-any.whl": ONE})]

    path.write_text("# A heading.\n" + "".join(f"\n{pin.lines()}\n" for pin in pins) + "plain==3\n", encoding="utf-8")

    assert read_pins(path) == {"a-b": pins[0], "c": pins[1], "plain": Pin("plain", "3")}


def test_the_hash_is_that_of_the_wheel_with_the_tags() -> None:
    pin = Pin("a-b", "1.0", WHEELS)

    assert pin.hash_for(["cp311-cp311-manylinux_2_17_x86_64"]) == ONE
    assert pin.hash_for(["cp312-cp312-manylinux_2_28_aarch64", "other"]) == OTHER
    assert pin.hash_for(["cp313-cp313-manylinux_2_28_aarch64"]) == ""


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("a>=1\n", "found the line 'a>=1'"),
        (f"a==1 --hash=sha256:{ONE}\n", "1 hashes and names 0 files"),
        (
            f"# a-1-py3-none-any.whl\na==1 \\\n  --hash=sha256:{ONE} \\\n  --hash=sha256:{OTHER}\n",
            "2 hashes and names 1",
        ),
        (f"# a-1-py3.whl\na==1 --hash=sha256:{ONE}\n", "no name of a wheel"),
    ],
)
def test_another_form_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    (tmp_path / "some.txt").write_text(text, encoding="utf-8")

    with pytest.raises(FileUnreadable) as refused:
        read_pins(tmp_path / "some.txt")
    assert reason in str(refused.value)


def test_a_missing_file_and_bytes_that_are_no_text_are_refused(tmp_path: Path) -> None:
    (tmp_path / "bytes.txt").write_bytes(b"\xff\xfe\x00")

    with pytest.raises(FileMissing):
        read_pins(tmp_path / "none.txt")
    with pytest.raises(FileUnreadable):
        read_pins(tmp_path / "bytes.txt")


def test_a_device_and_a_file_of_gigabytes_are_refused_before_they_are_read(tmp_path: Path) -> None:
    with (tmp_path / "large.txt").open("wb") as file:
        file.truncate(10 << 30)

    with pytest.raises(FileUnreadable, match="10,737,418,240 bytes"):
        read_pins(tmp_path / "large.txt")
    with pytest.raises(FileUnreadable, match="not a plain file"):
        read_pins(Path("/dev/urandom"))
