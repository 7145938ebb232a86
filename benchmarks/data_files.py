"""The files that the recipes of docs/results.md read: what they are, and whether those here are the ones.

    LIMBECK_DATA=path/to/data python benchmarks/data_files.py     # checks the files that are there
    python benchmarks/data_files.py --write-page                  # the table of docs/data.md

It ends with status 1 if a file has other bytes than the one the numbers were made with; missing ones are only named.
"""

import argparse
import hashlib
import os
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))  # a script finds its neighbours under the names that mypy and the tests know

from benchmarks.page_parts import table  # noqa: E402

PAGE = ROOT / "docs" / "data.md"
START, END = "<!-- files -->", "<!-- /files -->"


@dataclass(frozen=True)
class DataFile:
    """One file under LIMBECK_DATA."""

    path: str
    rows: int  # without a header
    sha256: str
    what: str


FILES = [
    DataFile(
        "sst2/train.tsv",
        67_349,
        "48eac26399f8456935f81dd9e3a745c1430adb6c62e233ccfe22db4a0d15d1d1",
        "SST-2 as GLUE has it: header `sentence label`, phrases and sentences",
    ),
    DataFile("sst2/dev.tsv", 872, "54a9c12c77e402fc14d6a66a506f24d999f596b0176eb777c972cccc2f9cc4b0", "its dev"),
    DataFile(
        "imdb/train.tsv.gz",
        25_000,
        "8bf759f14ec2843eb9562946f7dfd71647ec040df442c66a7ba7cf6192df4655",
        "IMDB (Maas et al. 2011), train: header `id label sentence`, a file's name as its id, `<br />` kept",
    ),
    DataFile(
        "imdb/dev.tsv.gz",
        10_000,
        "112914b14be14ef97baa2d41b0177ddb53aef3a4864c62f60becb25a7d20a543",
        "10,000 of its 25,000 test rows, drawn once; its id column says which",
    ),
    DataFile(
        "chnsenticorp/train.tsv",
        9_600,
        "0b2653c23e5c79f539472e90cb10522f0ada4b80d3da95572d8b48fda47d5b33",
        "ChnSentiCorp, the usual split into 9,600, 1,200 and 1,200: header `label text_a`",
    ),
    DataFile(
        "chnsenticorp/train.noleak.tsv",
        7_589,
        "2ce86c46f4a20b2aeb406262dcaf29b092b95198726854a0e118a029d4c7f3eb",
        "the same without rows that appear in dev or test",
    ),
    DataFile(
        "chnsenticorp/dev.tsv", 1_200, "d129e443eac08ce7643013dad496a8edf282be39cac1a4f2ad080818b296b331", "its dev"
    ),
    DataFile(
        "online_shopping/online_shopping_10_cats.csv",
        62_774,
        "f6c5b724122d8547b700ac4524898eb7e28abbee63f798e95a8faa408829afdb",
        "online_shopping_10_cats of ChineseNlpCorpus: `cat,label,review`",
    ),
    DataFile(
        "tnews/train.tsv",
        53_360,
        "568044502f315abb4da0c36f06255d07932de7a7d4f8a488e267a5bb2f6aa8e4",
        "TNEWS as CLUE has it, as headline and name of the class, no header",
    ),
    DataFile("tnews/dev.tsv", 10_000, "dd51816b956838a5bfaf67310dc3bb511d310eec316a9571947f468dd36efd04", "its dev"),
    DataFile(
        "thucnews/train45k.txt",
        45_000,
        "6cb2d0a2c25c06ca51bc526cfa0a451fed2ee0382dce0b3ae5e322555eef0aa8",
        "45,000 headlines of THUCNews: headline and number of the class, no header; labels are not read",
    ),
    DataFile(
        "thucnews/dev.txt", 10_000, "6ed73aa2c57ee1560c8f76570d48735c4b1c29ae4983fe3523d56e115813e175", "10,000 more"
    ),
    DataFile(
        "qqp/train10k.tsv",
        10_000,
        "06c4005b06d7b6212f0a29f76db225814bc97e46208fb07d698b31a02ad82cd8",
        "10,000 pairs of QQP, as many of each class: header `id question1 question2 is_duplicate`",
    ),
    DataFile(
        "mrpc/train.tsv",
        3_668,
        "614da6c246b38e5730af79e0743f8724771f8ad73bd3302db6ddac9418375cd4",
        "MRPC as GLUE has it, quotes are plain characters",
    ),
    DataFile("mrpc/dev.tsv", 408, "320459df9454dbdc8eea69ad1eb294967e7dfe03e7cf791f37d954a316f5253d", "its dev"),
    DataFile(
        "rte/train.tsv",
        2_490,
        "41e3a9b063433392343fad9e962cf2f58b681c78d8f71592f4186f0837246c5c",
        "RTE as GLUE has it: header `index sentence1 sentence2 label`, quotes are plain characters",
    ),
    DataFile("rte/dev.tsv", 277, "80230dfa1347282e7b532b06a1004a76a710087541189bf874223ddf0e3819fb", "its dev"),
    DataFile(
        "afqmc/train.txt",
        34_334,
        "48642eebd4dcd2fa099ad20b47fdbda456bdc396f8359aa4384a452a36f31eb7",
        "AFQMC as CLUE has it, as two questions and 0 or 1, no header",
    ),
    DataFile("afqmc/dev.txt", 4_316, "bd5136527078950a4d624a3d903ce86950cafb26b5092559b64c418e015f0df3", "its dev"),
    DataFile(
        "vectors/glove.6B.100d.top50k.txt.gz",
        49_998,
        "2c7d721b0bf3b7710a18ed0d3e6188f9948b7f7bca041c9e0523395234ecb4e8",
        "of the first 50,000 words of GloVe's glove.6B.100d.txt, without a header",
    ),
    DataFile(
        "vectors/zh-word2vec.100d.top50k.txt.gz",
        50_000,
        "c7502b44f0e30c79812d5caa59a5984459257ab9074e00ad985789cd8187f6a4",
        "50,000 Chinese words in 100 numbers, word2vec text with its header line",
    ),
]


def main() -> None:
    """Check the files, or write the page."""
    options = argparse.ArgumentParser(
        description=__doc__.splitlines()[0], epilog=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    options.add_argument("--write-page", action="store_true", help="write the table of docs/data.md")
    if options.parse_args().write_page:
        PAGE.write_text(page(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
        return
    named = os.environ.get("LIMBECK_DATA")
    if not named:
        sys.exit("LIMBECK_DATA names no folder: LIMBECK_DATA=path/to/data python benchmarks/data_files.py")
    found = {file.path: state(Path(named) / file.path, file.sha256) for file in FILES}
    for path, condition in found.items():
        print(f"{condition:8} {path}")
    if "another" in found.values():
        sys.exit(
            "another: a file with other bytes, perhaps packed or cut again; its numbers may differ from the page's"
        )


def state(path: Path, sha256: str) -> str:
    """ "same", "another" or "missing"."""
    if not path.is_file():
        return "missing"
    with path.open("rb") as file:
        return "same" if hashlib.file_digest(file, "sha256").hexdigest() == sha256 else "another"


def page(text: str) -> str:
    """The page with the table of all files between its marks."""
    before, _, rest = text.partition(START)
    _, _, after = rest.partition(END)
    rows = [[f"`{file.path}`", f"{file.rows:,}", file.what, f"`{file.sha256[:16]}`"] for file in FILES]
    files = table(["file", "rows", "what it is", "sha256 begins"], rows, words={"what it is", "sha256 begins"})
    return f"{before}{START}\n\n{files}\n\n{END}{after}"


if __name__ == "__main__":
    main()
