"""A transformer student's vocabulary: its teacher's tokens, either all or those that the texts use."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Literal, assert_never

import torch
from transformers import AutoConfig, AutoModelForSequenceClassification

from limbeck.artifacts.atomic_folder import written_atomically
from limbeck.artifacts.corpus import Corpus
from limbeck.artifacts.manifest import Key
from limbeck.artifacts.rows import Rows
from limbeck.artifacts.teacher_folder import TeacherFolder
from limbeck.artifacts.vocabulary_folder import VocabularyFolder, save_vocabulary
from limbeck.distillation.size_limit import SizeBudget, SizeLimit, cut_facts, levers_of, report_cut
from limbeck.errors import TeacherTokensUnsupported
from limbeck.models.checkpoint import from_folder
from limbeck.models.tokenizer import load_tokenizer
from limbeck.models.transformer import refuse_family, shape_for, student_family, transformer_student
from limbeck.progress import Reporter, counted
from limbeck.recipe.student import Transformer
from limbeck.text.forms import FormStep
from limbeck.text.framed_tokenizer import Frame, FramedTokenizer
from limbeck.text.framing import NOTHING_BEFORE, Framed, count_framed_pieces, framed_teacher_tokenizer
from limbeck.training.modes import quiet_transformers

TEXTS_AT_ONCE = 65_536
WITH_PADDING_1 = (
    "roberta",
    "xlm-roberta",
    "mpnet",
)  # they count positions from the id of padding; MPNet supports no other
TYPES = "token_type_ids"


def build_transformer_vocabulary(
    section: Transformer,
    *,
    corpus: Corpus,
    extra: Sequence[Rows],
    form: Sequence[FormStep],
    encoder: TeacherFolder | None,
    out: Path,
    key: Key,
    reporter: Reporter,
    size_limit: SizeLimit | None = None,
    start: Path | None = None,
) -> VocabularyFolder:
    """Write the tokenizer.json of the student, and for each of its tokens the id of the teacher's.

    `encoder` is the teacher, or the first member of an ensemble, that has word pieces; the checkpoint `start` takes its
    place. Raises StudentFamilyUnsupported or TeacherTokensUnsupported before anything is trained.
    """
    folder = start or (encoder.folder if encoder else None)
    assert folder is not None, "otherwise the recipe is refused"
    quiet_transformers()
    config = from_folder(AutoConfig, folder)
    refuse_family(section, model_type=config.model_type)
    theirs = load_tokenizer(folder, config)
    as_json = theirs.backend_tokenizer.to_str() if encoder is None or start else encoder.tokenizer_json()
    with written_atomically(out, kind="vocabulary", key=key) as scratch:
        teacher_ids: list[int] | None = None
        match section.vocabulary.kind:
            case "teacher":
                tokenizer = all_tokens(as_json, theirs, form=form)
                before_limit = len(tokenizer)
            case "pieces":
                family = student_family(section, model_type=config.model_type)
                sources = [corpus.splits["train"], *extra]
                count = sum(len(rows) * (2 if rows.is_pair else 1) for rows in sources)
                with reporter.bar("counting pieces", total=count, unit="texts") as bar:
                    texts = counted(texts_of(sources), bar)
                    of_size = _count(section, as_json, theirs, texts, family=family, form=form)
                tokenizer, teacher_ids = of_size(section.vocabulary.max_size)
                before_limit = len(tokenizer)
                if size_limit is not None:
                    size_budget = transformer_budget(section, config, size_limit, labels=corpus.labels)
                    size = size_budget.most_tokens(lambda size: of_size(size)[0], most=before_limit)
                    tokenizer, teacher_ids = of_size(size)
            case _:
                assert_never(section.vocabulary.kind)
        tokenizer.save(scratch / "tokenizer.json")
        facts = _facts(section, tokenizer, teacher_ids)
        facts |= cut_facts(size_limit, before=before_limit, after=len(tokenizer))
        save_vocabulary(scratch, vectors=None, facts=facts)
    whose = f"of {start.name}" if start else "of the teacher"
    reporter.note(f"  vocabulary: {len(tokenizer):,} tokens {whose}{', all of them' * (teacher_ids is None)}")
    report_cut(size_limit, reporter, what="pieces", before=before_limit, after=len(tokenizer))
    return VocabularyFolder(out)


def _facts(section: Transformer, tokenizer: FramedTokenizer, teacher_ids: list[int] | None) -> dict[str, Any]:
    return {
        "kind": section.vocabulary.kind,
        "tokens": len(tokenizer),
        "pad_id": tokenizer.pad_id,
        "has_types": tokenizer.has_types,
        "teacher_ids": teacher_ids,
    }


def all_tokens(tokenizer_json: str, theirs: Any, *, form: Sequence[FormStep] = ()) -> FramedTokenizer:
    """With the teacher's token types, even for a student without them: the teacher may run on the same rows."""
    refuse_tokens(theirs)
    return framed_teacher_tokenizer(
        tokenizer_json,
        pad_id=theirs.pad_token_id,
        mask_token=theirs.mask_token,
        has_types=TYPES in theirs.model_input_names,
        form=form,
    )


def refuse_tokens(theirs: Any) -> None:
    """A student that reuses all tokens needs one for padding, and one before a text, which its classifier reads."""
    if theirs.pad_token_id is None:
        raise TeacherTokensUnsupported(reason="none of them is for padding", other_kind="pieces")
    if not Frame.read_off(theirs.backend_tokenizer, texts=1).gaps[0]:
        raise TeacherTokensUnsupported(reason=NOTHING_BEFORE, other_kind="pieces")


def transformer_budget(section: Transformer, theirs: Any, limit: SizeLimit, *, labels: list[str]) -> SizeBudget:
    """The size of the student of a teacher with this config, as a function of its number of pieces."""
    with torch.device("meta"):  # only its shape is needed: without weights it takes no memory
        teacher = AutoModelForSequenceClassification.from_config(theirs)
    student = partial(
        transformer_student,
        section.model_copy(update={"start": "random", "layers": shape_for(section, theirs).layers}),
        teacher=teacher,
        vocabulary=[],
        pad_token_id=pad_id_of(student_family(section, model_type=theirs.model_type)),
        labels=labels,
    )
    return limit.budget(lambda tokens: student(vocabulary_size=tokens), levers=levers_of(section), labels=labels)


def pad_id_of(family: str) -> Literal[0, 1]:
    """The id of the padding token in the vocabulary of a student of this family."""
    return 1 if family in WITH_PADDING_1 else 0


def _count(
    section: Transformer,
    tokenizer_json: str,
    theirs: Any,
    texts: Iterable[str],
    *,
    family: str,
    form: Sequence[FormStep],
) -> Callable[[int], Framed]:
    reads_types = family != "distilbert" if section.family != "teacher" else TYPES in theirs.model_input_names
    return count_framed_pieces(
        tokenizer_json,
        texts,
        min_count=section.vocabulary.min_count,
        has_types=reads_types,
        special_ids={
            "[PAD]": theirs.pad_token_id,
            "[UNK]": theirs.unk_token_id,
            "[MASK]": theirs.mask_token_id,
            "[CLS]": theirs.cls_token_id,
            "[SEP]": theirs.sep_token_id,
        },
        pad_id=pad_id_of(family),
        form=form,
    )


def texts_of(sources: Sequence[Rows]) -> Iterator[str]:
    """Every text the student is trained on, second texts included; read in slices to limit memory."""
    for rows in sources:
        for part in rows.slices(TEXTS_AT_ONCE):
            yield from part.texts
            yield from part.pairs or []
