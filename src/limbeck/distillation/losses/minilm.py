"""Match how the teacher's last layer attends and how its values relate."""

from torch import Tensor

from limbeck.distillation.losses.attention_kl import attention_kl
from limbeck.distillation.losses.attention_scores import attention_scores
from limbeck.distillation.losses.padding import without_padding


def minilm(
    student_queries: Tensor,
    student_keys: Tensor,
    student_values: Tensor,
    teacher_queries: Tensor,
    teacher_keys: Tensor,
    teacher_values: Tensor,
    mask: Tensor,
) -> Tensor:
    """KL divergence of the attention plus that of the relation between values.

        A = softmax(Q Kᵀ / √d)    VR = softmax(V Vᵀ / √d)
        loss = KL(A_teacher ‖ A_student)  +  KL(VR_teacher ‖ VR_student)

    each a mean over heads and real queries, as in `attention_kl`. Wang et al. 2020 (arXiv:2002.10957, sections 3.1
    and 3.2), on the last layer of each. The width of a head may differ between teacher and student, the number of heads
    may not. Takes (rows, heads, tokens, head_width) six times and a mask (rows, tokens).
    """
    real = mask.bool()[:, None, :, None]

    def scores(first: Tensor, second: Tensor) -> Tensor:
        return attention_scores(without_padding(first, real), without_padding(second, real))

    attention = attention_kl(scores(student_queries, student_keys), scores(teacher_queries, teacher_keys), mask)
    relation = attention_kl(scores(student_values, student_values), scores(teacher_values, teacher_values), mask)
    return attention + relation
