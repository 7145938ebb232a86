"""The formats of requests and answers: our own, Hugging Face's, vLLM's and KServe's. From bytes to rows and back.

Every reader is `read_…(body, *, headers, choose, limits, name=None) -> ReadQuestion` and raises `Refused` alone.
"""
