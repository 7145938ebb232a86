"""Every error a user can cause, each built from facts; the command line prints them and exits with 2.

The messages follow one plan: what is wrong and where, what was found, what to do next.

    LimbeckError
    ├── RecipeError            RecipeNotFound · RecipeInvalid
    ├── DataError              FileMissing · FileEmpty · FileUnreadable · BytesUndecodable · ColumnMissing
    │                          RowMalformed · OneClassOnly · LabelUnknown · TooFewRows · HubUnreachable
    │                          NothingGathered · LabelUnclear · NothingToPredict
    ├── TeacherError           CheckpointNotFound · CheckpointDamaged · WeightsNotSafe
    ├── ArtifactError          ArtifactMissing · ArtifactDamaged · FormatTooNew · LabelsDoNotCover · RunBusy
    ├── StudentError           VectorsMalformed · TokenizerUnsupported · BudgetTooSmall
    ├── TrainingDiverged
    ├── ExportRefused
    ├── ServingError           PortTaken · AddressUnusable
    ├── DependencyMissing
    └── DiskFull · PathUnusable
"""

from limbeck.errors.artifacts import (
    ArtifactDamaged,
    ArtifactError,
    ArtifactMissing,
    FormatTooNew,
    LabelsDoNotCover,
    RunBusy,
)
from limbeck.errors.data import (
    BytesUndecodable,
    ColumnMissing,
    DataError,
    FileEmpty,
    FileMissing,
    FileUnreadable,
    HubUnreachable,
    LabelUnclear,
    LabelUnknown,
    NothingGathered,
    NothingToPredict,
    OneClassOnly,
    RowMalformed,
    TooFewRows,
)
from limbeck.errors.machine import DependencyMissing, DiskFull, PathUnusable
from limbeck.errors.message import LimbeckError, did_you_mean, some
from limbeck.errors.recipe import RecipeError, RecipeInvalid, RecipeNotFound
from limbeck.errors.serving import AddressUnusable, PortTaken, ServingError
from limbeck.errors.student import (
    BudgetTooSmall,
    ExportRefused,
    StudentError,
    TokenizerUnsupported,
    TrainingDiverged,
    VectorsMalformed,
)
from limbeck.errors.teacher import CheckpointDamaged, CheckpointNotFound, TeacherError, WeightsNotSafe

__all__ = [
    "AddressUnusable",
    "ArtifactDamaged",
    "ArtifactError",
    "ArtifactMissing",
    "BudgetTooSmall",
    "BytesUndecodable",
    "CheckpointDamaged",
    "CheckpointNotFound",
    "ColumnMissing",
    "DataError",
    "DependencyMissing",
    "DiskFull",
    "ExportRefused",
    "FileEmpty",
    "FileMissing",
    "FileUnreadable",
    "FormatTooNew",
    "HubUnreachable",
    "LabelUnclear",
    "LabelUnknown",
    "LabelsDoNotCover",
    "LimbeckError",
    "NothingGathered",
    "NothingToPredict",
    "OneClassOnly",
    "PathUnusable",
    "PortTaken",
    "RecipeError",
    "RecipeInvalid",
    "RecipeNotFound",
    "RowMalformed",
    "RunBusy",
    "ServingError",
    "StudentError",
    "TeacherError",
    "TokenizerUnsupported",
    "TooFewRows",
    "TrainingDiverged",
    "VectorsMalformed",
    "WeightsNotSafe",
    "did_you_mean",
    "some",
]
