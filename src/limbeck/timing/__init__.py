"""How fast and how large models are, measured side by side: for the report and for `limbeck bench`."""
