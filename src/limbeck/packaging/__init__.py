"""A model for other readers: conformance vectors, and a folder for browsers and Node (`limbeck package`)."""
