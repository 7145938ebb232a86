"""Whether the Hugging Face hub, which recipes may name data sets and checkpoints of, is in reach."""

SECONDS_TO_ANSWER = 5.0


def why_no_hub() -> str | None:
    """Why the hub gives no answer; None when it does. To be asked before its clients, which retry for long."""
    from huggingface_hub import constants, get_session

    if constants.HF_HUB_OFFLINE:
        return "HF_HUB_OFFLINE is set"
    try:
        get_session().head(constants.ENDPOINT, timeout=SECONDS_TO_ANSWER)
    except Exception as error:  # the hub's client raises a dozen kinds, and all mean: not in reach
        return f"no answer from {constants.ENDPOINT} ({str(error).strip() or type(error).__name__})"
    return None
