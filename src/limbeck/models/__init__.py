"""The students' networks; each a Hugging Face model that its Auto classes know after `import limbeck.models`.

Beside them, what it takes to load the checkpoints of others: where they are, and how their tokenizers are set up.
"""

from limbeck.models.auto_classes import register_auto_classes

register_auto_classes()
