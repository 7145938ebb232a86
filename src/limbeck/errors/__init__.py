"""Every error a user can cause, each built from facts; the command line prints them and exits with 2.

The messages follow one plan: what is wrong and where, what was found, what to do next.

    LimbeckError
    ├── RecipeError            RecipeNotFound · RecipeInvalid
    ├── DataError              FileMissing · FileEmpty · FileUnreadable · BytesUndecodable · ColumnMissing
    │                          ColumnGivenTwice · RowMalformed · OneClassOnly · LabelsAllEmpty · LabelUnknown
    │                          WeightedClassUnknown · TooFewRows · HubUnreachable · NothingGathered
    │                          NothingAugmented · NothingChosen · LabelUnclear · OnlyLabelsUnknown · NothingToPredict
    │                          TransferTextUnclear · TransferIsCorpus · TransferFilesDiffer · TransferForRecipe
    │                          RecipeInTheWay
    ├── TeacherError           CheckpointNotFound · CheckpointDamaged · WeightsNotSafe
    │                          TensorFlowCheckpointNotFound · CheckpointIncomplete · CheckpointUnsupported
    │                          CheckpointUnfit · BertConfigInvalid · VocabularyUnfit · ClassNamesUnfit
    │                          ClassColumnsMissing · ClassUnknown · AnswerMalformed · MemberUnjudged
    │                          CheckpointMistaken · TokenizerMissing · TokenizerTooLarge
    │                          TokenizerNeedsPackages · NeverFineTuned · ClassesDiffer · LabelNamesUnfit
    │                          TaskDiffers · TeacherNearChance · RowsUncovered · NothingCovered · LanguageModelUnfit
    │                          StudentUnfit · FeaturesMissing · LayersUnreadable · PretrainingImpossible
    │                          TextsNotApart · CustomTeacherUnusable
    ├── ArtifactError          ArtifactMissing · ArtifactDamaged · FormatTooNew · LabelsDoNotCover · RunBusy
    │                          NothingToCompare · ModelsNotAlike
    ├── StudentError           VectorsMalformed · TokenizerUnsupported · BudgetTooSmall · LayerMapImpossible
    │                          HeadsDiffer · RelationHeadsImpossible · CustomLossUnusable · ClassesUnlearned
    │                          StudentFamilyUnsupported · TeacherTokensUnsupported · TeacherLayersMissing · HeadsUnfit
    │                          SizeLimitTooSmall · TeacherReadsApart
    ├── TrainingDiverged
    ├── ExportRefused
    ├── ServingError           PortTaken · AddressUnusable
    ├── DependencyMissing
    └── DiskFull · PathUnusable · ProcessLost · TrainingLost · TrackerUnusable · ModelNotTimed · EngineUnusable
"""

from limbeck.errors.artifacts import (
    ArtifactDamaged,
    ArtifactError,
    ArtifactMissing,
    FormatTooNew,
    LabelsDoNotCover,
    ModelsNotAlike,
    NothingToCompare,
    RunBusy,
)
from limbeck.errors.data import (
    BytesUndecodable,
    ColumnGivenTwice,
    ColumnMissing,
    DataError,
    FileEmpty,
    FileMissing,
    FileUnreadable,
    HubUnreachable,
    LabelsAllEmpty,
    LabelUnclear,
    LabelUnknown,
    NothingAugmented,
    NothingChosen,
    NothingGathered,
    NothingToPredict,
    OneClassOnly,
    OnlyLabelsUnknown,
    RecipeInTheWay,
    RowMalformed,
    TooFewRows,
    TransferFilesDiffer,
    TransferForRecipe,
    TransferIsCorpus,
    TransferTextUnclear,
    WeightedClassUnknown,
)
from limbeck.errors.labeling import NothingCovered, RowsUncovered
from limbeck.errors.machine import (
    DependencyMissing,
    DiskFull,
    EngineUnusable,
    ModelNotTimed,
    PathUnusable,
    ProcessLost,
    TrackerUnusable,
    TrainingLost,
)
from limbeck.errors.message import LimbeckError, did_you_mean, in_shell, some
from limbeck.errors.recipe import RecipeError, RecipeInvalid, RecipeNotFound
from limbeck.errors.serving import AddressUnusable, PortTaken, ServingError
from limbeck.errors.student import (
    BudgetTooSmall,
    ClassesUnlearned,
    CustomLossUnusable,
    ExportRefused,
    HeadsDiffer,
    HeadsUnfit,
    LayerMapImpossible,
    RelationHeadsImpossible,
    SizeLimitTooSmall,
    StudentError,
    StudentFamilyUnsupported,
    TeacherLayersMissing,
    TeacherReadsApart,
    TeacherTokensUnsupported,
    TokenizerUnsupported,
    TrainingDiverged,
    VectorsMalformed,
)
from limbeck.errors.teacher import (
    AnswerMalformed,
    BertConfigInvalid,
    CheckpointDamaged,
    CheckpointIncomplete,
    CheckpointMistaken,
    CheckpointNotFound,
    CheckpointUnfit,
    CheckpointUnsupported,
    ClassColumnsMissing,
    ClassesDiffer,
    ClassNamesUnfit,
    ClassUnknown,
    CustomTeacherUnusable,
    FeaturesMissing,
    LabelNamesUnfit,
    LanguageModelUnfit,
    LayersUnreadable,
    MemberUnjudged,
    NeverFineTuned,
    PretrainingImpossible,
    StudentUnfit,
    TaskDiffers,
    TeacherError,
    TeacherNearChance,
    TensorFlowCheckpointNotFound,
    TextsNotApart,
    TokenizerMissing,
    TokenizerNeedsPackages,
    TokenizerTooLarge,
    VocabularyUnfit,
    WeightsNotSafe,
)

__all__ = [
    "AddressUnusable",
    "AnswerMalformed",
    "ArtifactDamaged",
    "ArtifactError",
    "ArtifactMissing",
    "BertConfigInvalid",
    "BudgetTooSmall",
    "BytesUndecodable",
    "CheckpointDamaged",
    "CheckpointIncomplete",
    "CheckpointMistaken",
    "CheckpointNotFound",
    "CheckpointUnfit",
    "CheckpointUnsupported",
    "ClassColumnsMissing",
    "ClassNamesUnfit",
    "ClassUnknown",
    "ClassesDiffer",
    "ClassesUnlearned",
    "ColumnGivenTwice",
    "ColumnMissing",
    "CustomLossUnusable",
    "CustomTeacherUnusable",
    "DataError",
    "DependencyMissing",
    "DiskFull",
    "EngineUnusable",
    "ExportRefused",
    "FeaturesMissing",
    "FileEmpty",
    "FileMissing",
    "FileUnreadable",
    "FormatTooNew",
    "HeadsDiffer",
    "HeadsUnfit",
    "HubUnreachable",
    "LabelNamesUnfit",
    "LabelUnclear",
    "LabelUnknown",
    "LabelsAllEmpty",
    "LabelsDoNotCover",
    "LanguageModelUnfit",
    "LayerMapImpossible",
    "LayersUnreadable",
    "LimbeckError",
    "MemberUnjudged",
    "ModelNotTimed",
    "ModelsNotAlike",
    "NeverFineTuned",
    "NothingAugmented",
    "NothingChosen",
    "NothingCovered",
    "NothingGathered",
    "NothingToCompare",
    "NothingToPredict",
    "OneClassOnly",
    "OnlyLabelsUnknown",
    "PathUnusable",
    "PortTaken",
    "PretrainingImpossible",
    "ProcessLost",
    "RecipeError",
    "RecipeInTheWay",
    "RecipeInvalid",
    "RecipeNotFound",
    "RelationHeadsImpossible",
    "RowMalformed",
    "RowsUncovered",
    "RunBusy",
    "ServingError",
    "SizeLimitTooSmall",
    "StudentError",
    "StudentFamilyUnsupported",
    "StudentUnfit",
    "TaskDiffers",
    "TeacherError",
    "TeacherLayersMissing",
    "TeacherNearChance",
    "TeacherReadsApart",
    "TeacherTokensUnsupported",
    "TensorFlowCheckpointNotFound",
    "TextsNotApart",
    "TokenizerMissing",
    "TokenizerNeedsPackages",
    "TokenizerTooLarge",
    "TokenizerUnsupported",
    "TooFewRows",
    "TrackerUnusable",
    "TrainingDiverged",
    "TrainingLost",
    "TransferFilesDiffer",
    "TransferForRecipe",
    "TransferIsCorpus",
    "TransferTextUnclear",
    "VectorsMalformed",
    "VocabularyUnfit",
    "WeightedClassUnknown",
    "WeightsNotSafe",
    "did_you_mean",
    "in_shell",
    "some",
]
