import bz2
import gzip
import lzma
import struct
import zipfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from limbeck.text.word_vectors import VectorsMalformed, first_words, read_word_vectors, vector_width

ENTRIES = {"good": [1.0, 2.5, -3.0], "Film": [0.25, 0.0, 4.0], "film": [7.0, 8.0, 9.0], "电影": [5.0, 10.0, -1.0]}


def glove(entries: dict[str, list[float]]) -> bytes:
    return "".join(f"{word} {' '.join(map(str, row))}\n" for word, row in entries.items()).encode()


def word2vec_text(entries: dict[str, list[float]]) -> bytes:
    return f"{len(entries)} 3\n".encode() + glove(entries).replace(b"\n", b" \n")


def word2vec_binary(entries: dict[str, list[float]]) -> bytes:
    return f"{len(entries)} 3\n".encode() + b"".join(
        word.encode() + b" " + struct.pack("<3f", *row) + b"\n" for word, row in entries.items()
    )


def word2vec_binary_without_breaks(entries: dict[str, list[float]]) -> bytes:
    return f"{len(entries)} 3\n".encode() + b"".join(
        word.encode() + b" " + struct.pack("<3f", *row) for word, row in entries.items()
    )


FORMATS = [glove, word2vec_text, word2vec_binary, word2vec_binary_without_breaks]


def written(folder: Path, content: bytes, name: str = "vectors.txt") -> Path:
    path = folder / name
    path.write_bytes(gzip.compress(content) if name.endswith(".gz") else content)
    return path


@pytest.mark.parametrize("name", ["vectors.txt", "vectors.txt.gz", "without-an-ending"])
@pytest.mark.parametrize("layout", FORMATS)
def test_wanted_words_are_read_from_every_format(
    tmp_path: Path, layout: Callable[[dict[str, list[float]]], bytes], name: str
) -> None:
    path = written(tmp_path, layout(ENTRIES), name)

    vectors, found = read_word_vectors(path, ["电影", "missing", "good"])

    np.testing.assert_array_equal(vectors, [[5.0, 10.0, -1.0], [0, 0, 0], [1.0, 2.5, -3.0]])
    assert found.tolist() == [True, False, True]
    assert vectors.dtype == np.float32


@pytest.mark.parametrize("layout", FORMATS)
def test_the_width_is_known_from_the_start_of_the_file(
    tmp_path: Path, layout: Callable[[dict[str, list[float]]], bytes]
) -> None:
    assert vector_width(written(tmp_path, layout(ENTRIES))) == 3


@pytest.mark.parametrize("layout", FORMATS)
def test_the_first_words_are_read_in_their_order(
    tmp_path: Path, layout: Callable[[dict[str, list[float]]], bytes]
) -> None:
    path = written(tmp_path, layout(ENTRIES))

    assert first_words(path, most=2) == ["good", "Film"]
    assert first_words(path, most=9) == list(ENTRIES)


@pytest.mark.parametrize("name", ["vectors.bin", "vectors.bin.gz"])
def test_the_ending_bin_means_binary(tmp_path: Path, name: str) -> None:
    looks_like_text = {"a": list(struct.unpack("<3f", b"1.5 2.5 3.5 "))}

    vectors, found = read_word_vectors(written(tmp_path, word2vec_binary(looks_like_text), name), ["a"])

    assert found.all()
    np.testing.assert_array_equal(vectors, np.array([looks_like_text["a"]], dtype=np.float32))


@pytest.mark.parametrize("pack", [bz2.compress, lzma.compress, None], ids=["bzip2", "xz", "zip"])
@pytest.mark.parametrize("content", [glove(ENTRIES), word2vec_binary(ENTRIES)], ids=["text", "binary"])
def test_files_packed_in_other_ways_are_read(
    tmp_path: Path, pack: Callable[[bytes], bytes] | None, content: bytes
) -> None:
    path = tmp_path / ("vectors.bin.packed" if content != glove(ENTRIES) else "vectors.packed")
    if pack:
        path.write_bytes(pack(content))
    else:
        with zipfile.ZipFile(path, "w") as archive:
            archive.mkdir("inside")
            archive.writestr("inside/vectors", content)

    vectors, found = read_word_vectors(path, [*ENTRIES])

    assert found.all()
    np.testing.assert_allclose(vectors, list(ENTRIES.values()))


def test_of_a_zip_archive_with_several_files_one_has_to_be_unpacked(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "vectors.zip", "w") as archive:
        archive.writestr("50d.txt", glove(ENTRIES))
        archive.writestr("100d.txt", glove(ENTRIES))

    with pytest.raises(VectorsMalformed, match=r"2 files \(50d.txt, 100d.txt\): unpack it"):
        vector_width(tmp_path / "vectors.zip")


def test_a_gzipped_file_needs_no_ending(tmp_path: Path) -> None:
    path = tmp_path / "vectors"
    path.write_bytes(gzip.compress(glove(ENTRIES)))

    assert read_word_vectors(path, ["good"])[1].all()


@pytest.mark.parametrize("layout", FORMATS)
def test_the_word_itself_is_preferred_to_its_lower_case(
    tmp_path: Path, layout: Callable[[dict[str, list[float]]], bytes]
) -> None:
    backwards = dict(reversed(ENTRIES.items()))

    for entries in (ENTRIES, backwards):
        vectors, found = read_word_vectors(written(tmp_path, layout(entries)), ["Film", "FILM", "film", "Good"])

        np.testing.assert_array_equal(vectors[:, 0], [0.25, 7.0, 7.0, 1.0])
        assert found.all()


def test_a_word_asked_for_twice_is_given_twice_and_the_first_entry_is_used(tmp_path: Path) -> None:
    vectors, _ = read_word_vectors(written(tmp_path, b"a 1 2\na 3 4\n"), ["a", "a"])

    assert vectors.tolist() == [[1.0, 2.0], [1.0, 2.0]]


def test_words_may_have_spaces_inside(tmp_path: Path) -> None:
    path = written(tmp_path, b"a 1.5 2.5\n. . . 3.5 4.5\nat name@example.org 5 6\n")

    vectors, found = read_word_vectors(path, [". . .", "at name@example.org", "."])

    assert found.tolist() == [True, True, False]
    assert vectors[0].tolist() == [3.5, 4.5]


def test_tabs_carriage_returns_and_blank_lines_are_accepted(tmp_path: Path) -> None:
    path = written(tmp_path, b"a\t1 2\r\nb\t3 4\r\n\r\n\xc2\xa0 5 6")

    vectors, found = read_word_vectors(path, ["b", "\u00a0"])

    assert found.all()
    assert vectors.tolist() == [[3.0, 4.0], [5.0, 6.0]]


@pytest.mark.parametrize(
    ("content", "line", "reason"),
    [
        (b"", 1, "empty"),
        (b"\n \n", 1, "empty"),
        (b"word\n", 1, "neither a word"),
        (b"a 1 2 3\nb 1 2\n", 2, "2 numbers, 3"),
        (b"a 1.0 2.0\nb 1.0 2.0 3.0\n", 2, "more numbers than the 2"),
        (b"a 1 2\nb 1 x2\n", 2, "'x' among the numbers"),
        (b"a 1 2\nwanted 1 1.2.3\n", 2, "could not convert"),
        (b"a 1 2\nwanted 1 1e99\n", 2, "not finite"),
        (b"2 3\na 1 2 3\nb 1 2\n", 3, "2 numbers, 3"),
        (b"2 0\n", 1, "width of 0"),
        (b"2 3\n", 1, "no vectors"),
        (b"PK\x03\x04 and so on", 1, "the zip data is damaged"),
        (b"BZh9 and so on", 1, "the bzip2 data is damaged"),
        (lzma.compress(glove(ENTRIES) * 100)[:-40], 1, "the xz data is damaged"),
        (word2vec_binary(ENTRIES)[:-8], 5, "ends after 3 of the 4"),
        (word2vec_binary({"wanted": [1.0, float("nan"), 0.0]}), 2, "not finite"),
        (gzip.compress(glove(ENTRIES) * 100, mtime=0)[:-40], 1, "gzip data is damaged"),
    ],
)
def test_errors_are_reported_with_their_line(tmp_path: Path, content: bytes, line: int, reason: str) -> None:
    path = written(tmp_path, content)

    with pytest.raises(VectorsMalformed) as caught:
        read_word_vectors(path, ["wanted"])

    assert f"line {line:,}:" in str(caught.value)
    assert reason in str(caught.value)
    assert str(path) in str(caught.value)


def test_more_vectors_than_fit_into_one_read_are_found(tmp_path: Path) -> None:
    width, count = 200, 3_000
    rows = np.random.default_rng(0).standard_normal((count, width)).astype("<f4")
    records = b"".join(f"w{number} ".encode() + rows[number].tobytes() for number in range(count))
    path = written(tmp_path, f"{count} {width}\n".encode() + records, "vectors.bin.gz")

    vectors, found = read_word_vectors(path, ["w0", "w1499", "w2999"])

    assert found.all()
    np.testing.assert_array_equal(vectors, rows[[0, 1499, 2999]])
