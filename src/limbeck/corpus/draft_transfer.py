"""The part of a drafted recipe about unlabelled text: what was given, what lies beside the data, or how to give it."""

from limbeck.corpus.draft_values import line, place, plain
from limbeck.corpus.inspection import Inspection
from limbeck.corpus.unlabelled import Unlabelled
from limbeck.errors import some
from limbeck.recipe.transfer import Transfer

LEAST_WORDS, MOST_WORDS = 3, 40  # of sentences that are cut out of longer texts; more where labelled ones are longer
LEVER = [
    "# Unlabelled text of the same kind is the strongest lever there is: the teacher labels it, and the student",
    "# learns from a hundred times more text than anybody could label.",
]


def transfer_lines(corpus: Inspection, *, given: Unlabelled | None, beside: Unlabelled | None) -> list[str]:
    """The section, behind comment signs unless the text was given."""
    if given is not None:
        return [*LEVER, *_section(given, corpus)]
    if beside is not None:
        name = plain(beside.files[0].name)
        return [
            *LEVER,
            f"# {name} lies beside the data. Take the # away to use it:",
            *_hidden(_section(beside, corpus)),
        ]
    lines = [
        "[transfer]",
        'files = ["unlabelled.csv"]  # csv, tsv, jsonl, parquet, or .txt with a text a line; * may stand in a path',
        'text = "text"  # the column (not needed for .txt)',
    ]
    if corpus.pair is not None:
        lines.append('pair = "pair"  # the column of the second text')
    elif not corpus.is_long:
        lines.append("split_sentences = true  # long texts into sentences, as the labelled rows are short")
    return [*LEVER, "# If you have any, take the # away:", *_hidden(lines)]


def _section(text: Unlabelled, corpus: Inspection) -> list[str]:
    remarks = {
        "text": f"labels are not read: column {plain(some(text.labels))}" if text.labels else "",
        "header": "the first line is a row; columns go by number, from 0",
        "format": "the ending does not say so",
    }
    keys = [line(key, found, remarks.get(key, "")) for key, found in text.keys().items()]
    return ["[transfer]", line("files", [place(path) for path in text.files]), *keys, *_lengths(text, corpus)]


def _lengths(text: Unlabelled, corpus: Inspection) -> list[str]:
    unit = "characters" if corpus.language == "zh" else "words"
    if text.is_cut:
        remark = (
            f"half have {text.median_words} {unit} or more, 95 % of the labelled texts {corpus.long_words} or fewer"
        )
        return [
            line("split_sentences", True, remark),
            line("min_words", LEAST_WORDS, "shorter sentences say too little"),
            line("max_words", max(MOST_WORDS, corpus.long_words * 3 // 2)),
        ]
    if corpus.long_words > Transfer.model_fields["max_words"].default:
        return [line("max_words", corpus.long_words, f"as many as 95 % of the labelled texts keep within, in {unit}")]
    return []


def _hidden(lines: list[str]) -> list[str]:
    return [f"# {line}" for line in lines]
