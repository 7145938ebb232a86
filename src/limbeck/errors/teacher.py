"""Errors about teachers and their checkpoints."""

import json
from collections.abc import Mapping, Sequence
from difflib import get_close_matches
from itertools import zip_longest
from pathlib import Path

from limbeck.errors.message import LimbeckError, did_you_mean, some


class TeacherError(LimbeckError):
    """The teacher cannot be used."""


class CheckpointNotFound(TeacherError):
    """The checkpoint of a teacher, or of another model, is neither a folder nor a package nor on the hub."""

    def __init__(
        self,
        *,
        checkpoint: str,
        reason: str,
        packages: Sequence[str],
        beside: Sequence[str] = (),
        what: str = "teacher",
    ) -> None:
        self.checkpoint = checkpoint
        offline = ", or `pip install 'limbeck[demo]'` for the offline encoder" if what == "teacher" else ""
        super().__init__(
            f"no {what} checkpoint '{checkpoint}'{did_you_mean(checkpoint, [*beside, *packages])}",
            found=f"not a folder here; not an installed offline package ({', '.join(packages)}); the hub: {reason}",
            advice=f"Give the path of a Hugging Face folder{offline}, or go online.",
        )


class CheckpointDamaged(TeacherError):
    """The weights of a teacher, or of another model, are not the ones they claim to be, or cannot be loaded."""

    def __init__(
        self, *, path: Path, reason: str, what: str = "teacher", advice: str = "Fetch or install the checkpoint again."
    ) -> None:
        super().__init__(f"cannot load the {what} from '{path}'", found=reason, advice=advice)


class CheckpointMistaken(TeacherError):
    """A folder that is something else than the encoder that it was named for."""

    def __init__(self, *, path: Path, found: str, meant: str, what: str = "teacher") -> None:
        super().__init__(f"'{path}' cannot be the {what}'s checkpoint", found=f"it is {found}", advice=meant)


class WeightsNotSafe(TeacherError):
    """The checkpoint holds pickled weights only."""

    def __init__(self, *, path: Path, found: Sequence[str]) -> None:
        super().__init__(
            f"'{path}' has no safetensors weights",
            found=f"found: {', '.join(found) or 'no weights at all'}",
            advice="Limbeck never loads pickles. Convert the checkpoint where you trust it: load it with transformers "
            "and call save_pretrained, which writes model.safetensors.",
        )


class TensorFlowCheckpointNotFound(TeacherError):
    """There is no TensorFlow checkpoint at the given place, or more than one."""

    def __init__(self, *, path: Path, reason: str, found: Sequence[str]) -> None:
        self.checkpoints = tuple(found)
        super().__init__(
            f"cannot tell the TensorFlow checkpoint at '{path}': {reason}{did_you_mean(str(path), found)}",
            found=f"found there: {some(found, most=5) or 'no file that ends in .index'}",
            advice="Give the name that its files share, without .index or .data-00000-of-00001 at its end.",
        )


class CheckpointIncomplete(TeacherError):
    """A file that belongs to a TensorFlow checkpoint does not lie beside it."""

    def __init__(self, *, path: Path, missing: str, beside: Sequence[str]) -> None:
        self.missing = missing
        super().__init__(
            f"no '{missing}' beside the TensorFlow checkpoint '{path}'",
            found=f"found there: {some(beside, most=5) or 'no .json or .txt file'}",
            advice="Put it there under this name; for a fine-tuned checkpoint, the one of the model it was fine-tuned "
            "from.",
        )


class BertConfigInvalid(TeacherError):
    """A bert_config.json that does not describe a network."""

    def __init__(self, *, path: Path, problems: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"'{path}' does not describe a BERT",
            found="\n".join(problems),
            advice="Correct it, or use the one that came with the model.",
        )


class CheckpointUnsupported(TeacherError):
    """A TensorFlow checkpoint of a kind that is not read."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(
            f"cannot import the TensorFlow checkpoint '{path}'",
            found=reason,
            advice="Give one with variables like bert/embeddings/word_embeddings, as Google's BERT and bert4keras "
            "save them.",
        )


class CheckpointUnfit(TeacherError):
    """A TensorFlow checkpoint whose variables are not those of the BERT that its bert_config.json describes."""

    def __init__(self, *, path: Path, missing: Sequence[str], misshapen: Sequence[str], unknown: Sequence[str]) -> None:
        self.missing, self.misshapen, self.unknown = tuple(missing), tuple(misshapen), tuple(unknown)
        groups = {"missing variables": missing, "of another shape": misshapen, "unknown variables": unknown}
        super().__init__(
            f"the TensorFlow checkpoint '{path}' is not the BERT that its bert_config.json describes",
            found="\n".join(f"{len(names):,} {what}: {some(names, most=8)}" for what, names in groups.items() if names),
            advice="Check that bert_config.json is the checkpoint's own; another network than BERT cannot be imported.",
        )


class VocabularyUnfit(TeacherError):
    """A vocab.txt that is not the vocabulary of its checkpoint."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(
            f"'{path}' is not the checkpoint's vocabulary", found=reason, advice="Put there the one that came with it."
        )


class ClassNamesUnfit(TeacherError):
    """Names for the classes of a checkpoint that do not fit them."""

    def __init__(self, *, labels: Sequence[str], reason: str) -> None:
        super().__init__(
            f"cannot name the classes {', '.join(labels)}",
            found=reason,
            advice="Give one name for each row of output_weights, in that order: --labels negative,positive",
        )


class ClassColumnsMissing(TeacherError):
    """A file of answers has no number for some classes of the corpus."""

    def __init__(self, *, path: Path, missing: Sequence[str], classes: Sequence[str], columns: Sequence[str]) -> None:
        self.missing, self.columns = tuple(missing), tuple(columns)
        entries = [f'"{name}" = "{_likely_column(name, columns)}"' for name in classes[:12]]
        table = ", ".join(entries if len(classes) <= 12 else [*entries, "…"])
        quoted = [f"'{name}'{did_you_mean(name, columns)}" for name in missing]
        super().__init__(
            f"'{path}' has no column for {len(missing):,} of {len(classes):,} classes: {some(quoted)}",
            found=f"classes of the corpus: {some(classes, most=12)}\n"
            f"columns of the file: {some(columns, most=20) or 'without names'}",
            advice="Name the column of every class in [teacher], by its name or its number from 0: "
            f"columns = {{{table}}}",
        )


def _likely_column(name: str, columns: Sequence[str]) -> str:
    """The column that may be meant for a class: one that ends like it, or is close to it; else an ellipsis."""
    endings = [column for column in columns if column.casefold().endswith(name.casefold())]
    return (endings or get_close_matches(name, columns, n=1, cutoff=0.6) or ["…"])[0]


class ClassUnknown(TeacherError):
    """A key of the recipe names classes that the corpus does not have."""

    def __init__(self, *, key: str, unknown: Sequence[str], classes: Sequence[str]) -> None:
        self.unknown = tuple(unknown)
        quoted = [f"'{name}'{did_you_mean(name, classes)}" for name in unknown]
        super().__init__(
            f"`{key}` names classes that the corpus does not have: {some(quoted)}",
            found=f"classes of the corpus: {some(classes, most=12)}",
            advice="Correct the names; they are those of the labels after corpus.label_names.",
        )


class AnswerMalformed(TeacherError):
    """One row of a file of answers holds something else than a number, or numbers that cannot be what they should."""

    def __init__(self, *, path: Path, row: int, column: str, found: str, reason: str, advice: str) -> None:
        self.row, self.column, self.value = row, column, found
        super().__init__(f"'{path}', row {row:,}, {column}: {reason}", found=f"found: {found}", advice=advice)


class TokenizerNeedsPackages(TeacherError):
    """The checkpoint has its tokenizer only as a SentencePiece model, which takes packages to be read."""

    def __init__(self, *, path: Path, found: str, packages: Sequence[str]) -> None:
        self.packages = tuple(packages)
        super().__init__(
            f"cannot read the tokenizer of '{path}'",
            found=f"found {found}, a SentencePiece model, and no tokenizer.json",
            advice=f"Run: pip install {' '.join(packages)}",
        )


class TokenizerMissing(TeacherError):
    """The checkpoint has no tokenizer, or half of one: every word would be unknown."""

    def __init__(self, *, path: Path, missing: Sequence[str]) -> None:
        self.missing = tuple(missing)
        files = f"tokenizer.json, or else {' and '.join(missing)}" if missing else "words in its tokenizer.json"
        super().__init__(
            f"'{path}' has no tokenizer: every word would be unknown",
            found=f"missing: {files}",
            advice="Put the tokenizer's files there, from the model it was fine-tuned from: load that one's tokenizer "
            "with transformers and call save_pretrained.",
        )


class TokenizerTooLarge(TeacherError):
    """The tokenizer has tokens that the model has no embedding for."""

    def __init__(self, *, path: Path, tokens: int, rows: int) -> None:
        self.tokens, self.rows = tokens, rows
        super().__init__(
            f"the tokenizer of '{path}' does not belong to its model",
            found=f"it numbers {tokens:,} tokens; the model has embeddings for {rows:,}",
            advice="Put there the tokenizer that the model was trained with, or call resize_token_embeddings before "
            "training.",
        )


class NeverFineTuned(TeacherError):
    """A checkpoint without a trained classification head is to be used as it is."""

    def __init__(self, *, checkpoint: str, missing: Sequence[str]) -> None:
        self.missing = tuple(missing)
        super().__init__(
            f"'{checkpoint}' has never been fine-tuned as a classifier: its head would be random",
            found=f"not in its files: {some(missing, most=4)}",
            advice='Set teacher.train = "all" to fine-tune it on the corpus, or name a checkpoint that is a '
            "classifier.",
        )


class LanguageModelUnfit(TeacherError):
    """A checkpoint that is to fill in masked words has never learned to, or cannot be used for it."""

    def __init__(self, *, checkpoint: str, reason: str) -> None:
        super().__init__(
            f"'{checkpoint}' cannot predict masked words",
            found=reason,
            advice="Set `checkpoint` of masked_lm in [augmentation] to a model with a trained masked-language-model "
            "head, such as bert-base-uncased or bert-base-chinese.",
        )


class PretrainingImpossible(TeacherError):
    """An encoder that is to go on guessing masked words cannot, or finds none to guess."""

    def __init__(self, *, checkpoint: str, reason: str, advice: str) -> None:
        super().__init__(f"cannot pretrain '{checkpoint}'", found=reason, advice=advice)


class TextsNotApart(TeacherError):
    """A checkpoint that is to read the two texts of a pair one by one cannot."""

    def __init__(self, *, path: Path, reason: str) -> None:
        super().__init__(
            f"'{path}' cannot read the texts of a pair one by one",
            found=reason,
            advice="Remove teacher.pairs, or use another checkpoint.",
        )


class ClassesDiffer(TeacherError):
    """The classes of a checkpoint that is to be used as it is are not those of the corpus, in their order."""

    def __init__(
        self, *, checkpoint: str, difference: str, theirs: Sequence[str], ours: Sequence[str], guess: Mapping[str, str]
    ) -> None:
        self.theirs, self.ours, self.guess = tuple(theirs), tuple(ours), dict(guess)
        advice = f'Set teacher.train = "all": a checkpoint of {len(theirs)} classes cannot be used as it is here.'
        if len(theirs) == len(ours):
            unsure = "with a class of the corpus for each ?" if "?" in guess.values() else "if this is what they mean"
            advice = f"Put this line into [teacher], {unsure}: label_names = {_inline_table(guess)}"
        super().__init__(
            f"the classes of '{checkpoint}' are not those of the corpus: {difference}",
            found=numbered_lists(theirs, ours),
            advice=advice,
        )


class LabelNamesUnfit(TeacherError):
    """`label_names` in the recipe does not give each class of the checkpoint one class of the corpus."""

    def __init__(self, *, checkpoint: str, problems: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> None:
        self.problems = tuple(problems)
        super().__init__(
            f"teacher.label_names does not fit '{checkpoint}': {some(problems)}",
            found=numbered_lists(theirs, ours),
            advice="Name each class of the checkpoint once, and give each a class of the corpus of its own.",
        )


class TaskDiffers(TeacherError):
    """A checkpoint that is used as it is gives one label a row and the corpus has several, or the other way round."""

    def __init__(self, *, checkpoint: str, found: str, needed: str) -> None:
        super().__init__(
            f"'{checkpoint}' was trained for another task than the corpus's",
            found=f"problem_type in its config.json: {found}; the corpus needs: {needed}",
            advice='Set teacher.train = "all", or correct problem_type in config.json if it is wrong.',
        )


class StudentUnfit(TeacherError):
    """A student that is to be the teacher was trained for another task than the corpus's."""

    def __init__(self, *, path: Path, differences: Sequence[str], theirs: Sequence[str], ours: Sequence[str]) -> None:
        self.differences = tuple(differences)
        names = [] if set(theirs) == set(ours) else [numbered_lists(theirs, ours, whose="the student")]
        super().__init__(
            f"the student '{path}' cannot be the teacher: it was trained for another task than the corpus's",
            found="\n".join([*differences, *names]),
            advice="Name a student that was trained on such rows; where only names differ, corpus.label_names changes "
            "them.",
        )


class FeaturesMissing(TeacherError):
    """Features are asked for, and the teacher is an exported model, which gives nothing but logits."""

    def __init__(self, *, model: str) -> None:
        super().__init__(
            f"'{model}' is an exported model and gives logits alone; labeling.features, or a loss, asks for features",
            advice='Name the trained student that it was exported from as the teacher: path = "runs/NAME/students/'
            'bilstm"',
        )


class CustomTeacherUnusable(TeacherError):
    """A teacher that is a function of the user's own cannot be found, fails, or does not answer as it must."""

    def __init__(self, *, call: str, reason: str, advice: str = "") -> None:
        self.call, self.reason = call, reason
        advice = advice or "Python must find it: install its package, or put PYTHONPATH=. before the command."
        super().__init__(f"the teacher '{call}' cannot be used\n  {reason}\n{advice}")


class TeacherNearChance(TeacherError):
    """A teacher that does hardly better on dev than guessing, or worse."""

    def __init__(
        self, *, name: str, accuracy: float, skill: float, rows: int, reason: str, advice: str, table: str = "[teacher]"
    ) -> None:
        self.name, self.accuracy, self.skill = name, accuracy, skill
        right = f"{accuracy:.1%} of {rows:,} dev rows are right; Cohen's kappa {skill:.2f} (guessing: 0, all right: 1)"
        super().__init__(
            f"the teacher {name} does hardly better on dev than guessing: a student would learn nothing from it",
            found=f"{right}\n{reason}",
            advice=f'{advice} Or set near_chance = "warn" in {table} to go on with it.',
        )


def numbered_lists(theirs: Sequence[str], ours: Sequence[str], *, whose: str = "the checkpoint", most: int = 40) -> str:
    """The classes of a model and of the corpus side by side, numbered, for a message."""
    left = [whose, *(f"{number}  {name}" for number, name in enumerate(theirs))]
    right = ["the corpus", *(f"{number}  {name}" for number, name in enumerate(ours))]
    width = max(len(line) for line in left)
    lines = [f"{one.ljust(width)}    {two}".rstrip() for one, two in zip_longest(left, right, fillvalue="")]
    more = len(lines) - 1 - most
    return "\n".join(lines if more <= 0 else [*lines[: most + 1], f"… and {more:,} more"])


def _inline_table(names: Mapping[str, str]) -> str:
    """As TOML writes it; its strings are those of JSON."""
    entries = (f"{json.dumps(a, ensure_ascii=False)} = {json.dumps(b, ensure_ascii=False)}" for a, b in names.items())
    return "{ " + ", ".join(entries) + " }"


class MemberUnjudged(TeacherError):
    """A member of an ensemble that is weighted by accuracy on dev, and has no accuracy there."""

    def __init__(self, *, name: str) -> None:
        super().__init__(
            f"cannot weight '{name}' by its accuracy on dev: it answers no dev row, or none correctly",
            advice='Complete its file with the dev rows, or combine the members with "mean_probabilities".',
        )


class LayersUnreadable(TeacherError):
    """The inner layers of a model are to be read, and its family is not a known one."""

    def __init__(self, *, family: str, known: Sequence[str]) -> None:
        self.family = family
        super().__init__(
            f"the queries, keys and values of this family of models cannot be read: {family}",
            found=f"known: {', '.join(known)}",
            advice="Use losses on hidden states, features or logits instead of those on attention.",
        )
