"""The students' networks: Hugging Face models, registered with its Auto classes by `import limbeck.models`.

Also loads checkpoints from elsewhere: finds their folders and sets up their tokenizers.
"""

from limbeck.models.auto_classes import register_auto_classes

register_auto_classes()
