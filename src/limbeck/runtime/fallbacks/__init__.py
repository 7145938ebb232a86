"""Other models that answer where a student is not sure: one of this machine, or one behind an HTTP server."""
