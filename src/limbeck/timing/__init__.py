"""Speed and size of models, measured side by side: for the report and for `limbeck bench`."""
