"""The server that one would write in an afternoon: FastAPI around a pipeline of transformers.

    python benchmarks/serving_rival.py MODEL [--workers N]        prints its address, and answers until it is ended

MODEL is a folder of Hugging Face. benchmarks/serving_load.py measures it beside `limbeck serve`: the same machine, the
same clients, the same requests.
"""

import argparse
import os
from typing import Any

import uvicorn
from fastapi import FastAPI
from pydantic import BaseModel

FOLDER = "SERVING_RIVAL_MODEL"  # a variable, since workers import this file again
SECONDS_TO_START = 120  # of a worker: loading PyTorch takes longer on a busy machine than the five that uvicorn waits
app = FastAPI()


class RivalQuestion(BaseModel):
    """Texts to classify."""

    texts: list[str]


def pipeline_of(folder: str) -> Any:
    """On the processor, with as many threads as PyTorch takes by itself."""
    from transformers import pipeline

    return pipeline("text-classification", model=folder, device="cpu")


if FOLDER in os.environ:
    classifier = pipeline_of(os.environ[FOLDER])


@app.get("/health")
def is_ready() -> dict[str, bool]:
    """The model is loaded when this file is."""
    return {"ready": True}


@app.post("/predict")
def predict(question: RivalQuestion) -> list[dict[str, Any]]:
    """Label and probability of each text, all texts of the request in one batch."""
    found: list[dict[str, Any]] = classifier(question.texts, truncation=True, batch_size=len(question.texts))
    return found


def main() -> None:
    """Serve until the end."""
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("model")
    options.add_argument("--workers", type=int, default=1)
    asked = options.parse_args()
    os.environ[FOLDER] = asked.model
    uvicorn.run(
        "benchmarks.serving_rival:app",
        port=0,
        workers=asked.workers,
        access_log=False,
        timeout_worker_healthcheck=SECONDS_TO_START,
    )


if __name__ == "__main__":
    main()
