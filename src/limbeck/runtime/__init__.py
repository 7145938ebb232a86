"""Exported models at work: onnxruntime, tokenizers and numpy; neither torch nor pyarrow."""
