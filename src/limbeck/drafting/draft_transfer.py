"""The part of a drafted recipe about unlabelled text: what was given, what lies beside the data, or how to give it."""

from collections.abc import Sequence

from limbeck.drafting.draft_values import line, place, plain
from limbeck.drafting.inspection import Inspection
from limbeck.drafting.unlabelled import Unlabelled
from limbeck.errors import some
from limbeck.recipe.transfer import Transfer

LEAST_WORDS, MOST_WORDS = 3, 40  # of sentences that are cut out of longer texts; more where labelled ones are longer
WORDS_OF_OWN_SENTENCES = (4, 60)  # as in the recipe imdb-text
LEVER = [
    "# Unlabelled text of the same kind is the strongest lever there is: the teacher labels it, and the student",
    "# learns from a hundred times more text than anybody could label.",
]


def transfer_lines(
    corpus: Inspection, *, given: Unlabelled | None, beside: Unlabelled | None, own: Sequence[str] = ()
) -> list[str]:
    """The section, behind comment signs unless the text was given.

    `own` are the keys that read the labelled documents themselves, if their sentences are to be lessons too.
    """
    if given is not None:
        return [*LEVER, *_section(given, corpus)]
    if beside is not None:
        name = plain(beside.files[0].name)
        return [
            *LEVER,
            f"# {name} lies beside the data. Take the # away to use it:",
            *_hidden(_section(beside, corpus)),
        ]
    if own:
        return [*LEVER, *_own_sentences(own)]
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


def _own_sentences(keys: Sequence[str]) -> list[str]:
    """As in the recipe imdb-text. Documents of dev and test are kept out before they are cut."""
    least, most = WORDS_OF_OWN_SENTENCES
    return [
        "# Here it is the sentences of the training documents: what the teacher says of one is another lesson. If you",
        "# have more text, name its files beside this one, or in its place.",
        "[transfer]",
        *keys,
        "split_sentences = true",
        f"min_words = {least}",
        f"max_words = {most}",
    ]


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
