"""Exported models at work, by native code or by onnxruntime; neither torch nor pyarrow."""
