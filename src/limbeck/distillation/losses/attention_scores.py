"""How much each token looks at each other one, before the softmax."""

import math

from torch import Tensor

from limbeck.distillation.losses.precision import in_full_precision


@in_full_precision
def attention_scores(queries: Tensor, keys: Tensor) -> Tensor:
    """Scaled dot products of queries and keys, without any mask or position bias.

        scores = Q Kᵀ / √head_width

    Vaswani et al. 2017 (arXiv:1706.03762, equation 1). Takes (rows, heads, tokens, head_width) twice; gives
    (rows, heads, tokens, tokens), queries before keys, in float32.
    """
    return queries.float() @ keys.float().transpose(-1, -2) / math.sqrt(queries.shape[-1])
