"""Inspects files of unlabelled text, for `--transfer`: how a recipe's [transfer] has to describe them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from limbeck.drafting.column_profile import LABEL_NAMES, ColumnProfile, profiles_of
from limbeck.drafting.inspection import COUNTED_TEXTS, Inspection, column_of, lengths_of
from limbeck.drafting.layout import COLUMN_NAMES, Layout, find_layout, find_lines
from limbeck.drafting.roles import guess_texts, lines_of_examples, with_examples
from limbeck.errors import DataError, some
from limbeck.recipe.corpus import Column
from limbeck.tables import TableForm
from limbeck.tables.formats import ENDINGS, NOT_READ, SHEETS, ending_of
from limbeck.text.sentences import split_sentences

# Texts are split into sentences if their median length exceeds this multiple of the labelled texts' 95th percentile,
# unless those are documents themselves.
MUCH_LONGER = 1.0
NAME_WORDS, NAME_LENGTH = 3, 30  # most words and most characters of an unknown column name
FORM_KEYS, USUAL = ("format", "header", "quoting", "encoding"), TableForm()
LIKELY_NAMES = ("unlabelled.*", "unlabeled.*", "unsup*.*", "transfer.*")  # of files in the folder of the data


class TransferTextUnclear(DataError):
    """No column of a file of unlabelled text can be recognised as the text, or no two as the texts of a pair."""

    def __init__(self, *, path: Path, wanted: Sequence[str], columns: Mapping[str, str]) -> None:
        self.wanted, self.columns = tuple(wanted), dict(columns)
        which, what = ("columns", "are the two texts") if len(wanted) > 1 else ("column", "is the text")
        examples = lines_of_examples(columns)
        names = " and ".join(f"'{name}'" for name in wanted)
        super().__init__(
            f"cannot tell which {which} of '{path}' {what}",
            found="\n".join(["its columns, with an example of each:", *examples]),
            advice=f"Name and order them as in the corpus ({names}), or write [transfer] yourself: docs/transfer.md",
        )


class TransferIsCorpus(DataError):
    """The file that was given as unlabelled text is a file of the corpus."""

    def __init__(self, *, path: Path, split: str) -> None:
        self.split = split
        trained_on = split == "train"
        super().__init__(
            f"'{path}' cannot be the unlabelled text: it is the corpus's own {split} file",
            found="the student learns from its rows anyway" if trained_on else "its rows are removed from other text",
            advice="Give text that is not in the corpus, or omit --transfer.",
        )


class TransferFilesDiffer(DataError):
    """One section of a recipe cannot read all the given files of unlabelled text."""

    def __init__(self, *, settings: Mapping[str, str]) -> None:
        self.settings = dict(settings)
        sections = [f"  {path}: {keys}" for path, keys in settings.items()]
        super().__init__(
            f"{len(settings)} files of unlabelled text have different layouts",
            found="\n".join(["[transfer] would be:", *sections]),
            advice="Convert them to one layout, e.g. .txt with one text per line, or give only files that share one.",
        )


@dataclass(frozen=True)
class Unlabelled:
    """Files of text that one section can read; the fields are written as in [transfer]."""

    files: list[Path]
    form: TableForm
    text: Column | None  # None: one text per line
    pair: Column | None
    labels: list[str]  # columns that look like labels; they are not read
    median_words: int  # in Chinese, characters
    is_cut: bool  # into sentences, because its texts are much longer than the labelled ones
    rows: int  # rows that were read; if they are cut, the number of sentences, estimated from a sample
    where_empty: str = ""  # the column that has no label in these rows, if they are rows of the corpus's own file

    def keys(self) -> dict[str, object]:
        """The keys of [transfer] that are needed to read the files: those that differ from the defaults."""
        columns = {"text": self.text, "pair": self.pair}
        form = {key: getattr(self.form, key) for key in FORM_KEYS if getattr(self.form, key) != getattr(USUAL, key)}
        return {**{key: column for key, column in columns.items() if column is not None}, **form}

    def summary(self) -> str:
        """What was found, in a line for the terminal."""
        names = some([path.name for path in self.files])
        if self.where_empty:
            return f"  unlabelled: the {self.rows:,} rows without a label; the student learns from them too"
        column = "one text per line" if self.text is None else f"text: {self.text}"
        pair = "" if self.pair is None else f", second text: {self.pair}"
        cut = "; long texts, cut into sentences" if self.is_cut else ""
        return f"  unlabelled: {names}, {column}{pair}{cut}"

    def offer(self) -> str:
        """How it could be used, in a line for the terminal."""
        (file,) = self.files
        return f"  {file.name} is in the same folder: with --transfer {file} the student also learns from it"


def is_data_file(name: str) -> bool:
    """Whether a path has the ending of a data file; the file need not exist."""
    return ending_of(Path(name)) in (*ENDINGS, ".txt", *SHEETS, *NOT_READ) and not Path(name).is_dir()


def look_at_text(paths: Sequence[Path], corpus: Inspection) -> Unlabelled:
    """Inspect files of text of the same kind as the corpus; raises DataError if one section cannot read them all."""
    paths = list({path.resolve(): path for path in paths}.values())
    for path in paths:
        _refuse_corpus(path, corpus)
    looks = [_look(path, corpus) for path in paths]
    first = next((look for look in looks if look.text is not None), looks[0])
    if not all(_reads(first, look) for look in looks):
        raise TransferFilesDiffer(settings={str(look.files[0]): _shown_keys(look) for look in looks})
    return replace(
        first,
        files=paths,
        labels=list(dict.fromkeys(name for look in looks for name in look.labels)),
        median_words=max(look.median_words for look in looks),
        is_cut=any(look.is_cut for look in looks),
        rows=sum(look.rows for look in looks),
    )


def own_unlabelled(corpus: Inspection) -> Unlabelled | None:
    """The rows of the data file that have no label, as text to learn from; None if there are few."""
    if not corpus.learns_from_unlabelled:
        return None
    return Unlabelled(
        files=[corpus.path],
        form=corpus.form,
        text=corpus.text,
        pair=corpus.pair,
        labels=[],
        median_words=corpus.median_words,
        is_cut=False,
        rows=corpus.unlabelled,
        where_empty=str(corpus.label),
    )


def text_beside(corpus: Inspection) -> Unlabelled | None:
    """A file of text in the folder of the data, found by its name; None if there is no readable one."""
    folder = corpus.path.parent
    named = [path for pattern in LIKELY_NAMES for path in sorted(folder.glob(pattern)) if is_data_file(str(path))]
    for path in named:
        try:
            return look_at_text([path], corpus)
        except DataError:
            continue
    return None


def _refuse_corpus(path: Path, corpus: Inspection) -> None:
    files = {"train": corpus.path, **corpus.held_out}
    for split, file in files.items():
        if path.exists() and path.samefile(file):
            raise TransferIsCorpus(path=path, split=split)


def _look(path: Path, corpus: Inspection) -> Unlabelled:
    layout = _layout(path, corpus)
    is_lines = layout.kind == "lines"
    text, pair = find_texts(layout, path=path, corpus=corpus)
    texts = [row[text] if pair is None else f"{row[text]} {row[pair]}" for row in layout.rows]
    median, _ = lengths_of(texts, language=corpus.language)
    is_cut = pair is None and not corpus.is_long and median > MUCH_LONGER * corpus.long_words
    return Unlabelled(
        files=[path],
        form=layout.form,
        text=None if is_lines else column_of(layout, text),
        pair=None if pair is None else column_of(layout, pair),
        labels=_labels(layout, corpus, texts=(text, pair)),
        median_words=median,
        is_cut=is_cut,
        rows=_sentences(texts, corpus.language) if is_cut else len(texts),
    )


def _layout(path: Path, corpus: Inspection) -> Layout:
    """As a table or as plain lines; .txt holds lines here, unless all lines have the same number of tabs."""
    wanted = [column for column in (corpus.text, corpus.pair) if isinstance(column, str)]
    if not path.name.lower().removesuffix(".gz").endswith(".txt"):
        return _without_false_header(find_layout(path, wanted=wanted, least_columns=1), corpus)
    lines = find_lines(path)
    tabs = {line.count("\t") for (line,) in lines.rows}
    if len(tabs) > 1 or tabs == {0}:
        return replace(lines, form=replace(lines.form, format="auto"))
    layout = _without_false_header(find_layout(path, wanted=wanted), corpus)
    return replace(layout, form=replace(layout.form, format=layout.kind))


def _without_false_header(layout: Layout, corpus: Inspection) -> Layout:
    """The layout with its first row as a row, if it was taken for a header only because it differs from the others.

    A text and the name of a text column are hard to distinguish: a real header has known names, or short ones in a
    file whose corpus has a header too.
    """
    known = {*COLUMN_NAMES, *TEXT_NAMES, *map(str.lower, corpus.columns)}
    are_short = all(len(name.split()) <= NAME_WORDS and len(name) <= NAME_LENGTH for name in layout.columns)
    if layout.kind not in ("csv", "tsv") or not layout.form.header or known & set(map(str.lower, layout.columns)):
        return layout
    if corpus.form.header and are_short:
        return layout
    numbers = [str(number) for number in range(len(layout.columns))]
    return replace(
        layout,
        form=replace(layout.form, header=False),
        columns=numbers,
        is_named=False,
        rows=[tuple(layout.columns), *layout.rows],
        numbers=[1, *layout.numbers],
    )


def _labels(layout: Layout, corpus: Inspection, *, texts: tuple[int | None, ...]) -> list[str]:
    """Columns that have the name of the corpus's label, or a typical label name."""
    own = [str(column) for column in (corpus.label if isinstance(corpus.label, list) else [corpus.label])]
    others = [name for at, name in enumerate(layout.columns) if at not in texts]
    return [name for name in others if name in own or name.lower() in LABEL_NAMES]


def _sentences(texts: Sequence[str], language: str) -> int:
    sample = texts[:: max(1, 10 * len(texts) // COUNTED_TEXTS)]
    return len(texts) * sum(len(split_sentences(text, language=language)) for text in sample) // len(sample)


def _reads(section: Unlabelled, other: Unlabelled) -> bool:
    """Whether the keys for one file also read the other; plain lines need no columns, but the format "auto"."""
    if other.text is None and section.text is not None:
        return section.form.format == "auto" and section.form.encoding == other.form.encoding
    return section.keys() == other.keys()


def _shown_keys(look: Unlabelled) -> str:
    keys = look.keys() if look.text is not None else {"one text per line": True, **look.keys()}
    return ", ".join(name if value is True else f"{name} = {value!r}" for name, value in keys.items())


TEXT_NAMES = (  # the first one found is taken
    *("text", "sentence", "review", "reviews", "comment", "content", "body", "document", "message", "tweet", "post"),
    *("review_text", "review_body", "text_a", "sentence1", "title", "headline", "question", "query"),
)


def find_texts(layout: Layout, *, path: Path, corpus: Inspection) -> tuple[int, int | None]:
    """The positions of the text and, if the corpus has pairs, of the second text.

    Raises TransferTextUnclear if they cannot be found.
    """
    profiles = [profile for profile in profiles_of(layout) if profile.is_text and any(map(str.strip, profile.cells))]
    wanted = [corpus.text] if corpus.pair is None else [corpus.text, corpus.pair]
    positions = _same(wanted, profiles) or _guessed(layout, profiles, wants_pair=corpus.pair is not None)
    if positions is None:
        raise TransferTextUnclear(path=path, wanted=[str(name) for name in wanted], columns=with_examples(layout))
    return positions[0], positions[1] if corpus.pair is not None else None


def _same(wanted: Sequence[Column], profiles: Sequence[ColumnProfile]) -> list[int] | None:
    """The corpus's text columns: by their names or, if neither file has names, by their positions."""
    sure = [profile for profile in profiles if profile.name or _is_running_text(profile)]
    by_key: dict[Column, int] = {profile.name or profile.position: profile.position for profile in sure}
    return [by_key[column] for column in wanted] if all(column in by_key for column in wanted) else None


def _guessed(layout: Layout, profiles: Sequence[ColumnProfile], *, wants_pair: bool) -> list[int] | None:
    names = {profile.name.lower(): profile.position for profile in reversed(profiles)}
    if not wants_pair and (usual := [names[name] for name in TEXT_NAMES if name in names]):
        return usual[:1]
    running = [profile for profile in profiles if len(layout.columns) == 1 or _is_running_text(profile)]
    found = guess_texts(running, wants_pair=wants_pair)
    return list(found.values()) if len(found) == 1 + wants_pair else None


def _is_running_text(profile: ColumnProfile) -> bool:
    """Whether it is a different text in each row, and not a label."""
    return profile.is_varied and not profile.is_named_label and not profile.is_split
