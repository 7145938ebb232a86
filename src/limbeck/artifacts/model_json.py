"""What may be in model.json: types, and bounds that every exported model keeps. Anybody may have written the file."""

import json
from collections.abc import Callable
from typing import Any

from limbeck.artifacts.score_scale import is_scale
from limbeck.kinds import STUDENT_KINDS

BLEND = "blend"  # the kind of a model that has members
MOST_LABELS, MOST_TOKENS, MOST_PARAMETERS, MOST_MEMBERS = 1_000_000, 1_000_000, 1 << 48, 16
LONGEST_NAME = 1_000  # characters; a run refuses longer labels, too
LEAST_TEMPERATURE, MOST_TEMPERATURE = 1e-3, 1e3  # an export fits one from 0.05 to 20
FROM_ROUNDING = 0.01  # how far the weights of a blend may be from one, in sum
MOST_SHOWN = 60
SCORES = {"probability": (-1.0, 2.0), "margin": (-1.0, 2.0), "energy": (-1e9, 1e9)}  # thresholds that each may have


def faults_of_values(card: dict[str, Any]) -> list[str]:
    """What is wrong with the values of a model.json that has all the keys it needs, and no others."""
    wrong = [f"{name} is {shown(card.get(name))}" for name, is_right in CHECKS.items() if not is_right(card)]
    return wrong or _faults_of_kind(card)


def shown(value: Any) -> str:
    """A value as JSON, cut if it is long."""
    text = json.dumps(value)
    return text if len(text) <= MOST_SHOWN else f"{text[:MOST_SHOWN]}…"


def _faults_of_kind(card: dict[str, Any]) -> list[str]:
    """A kind of model reads tokens in one way, and only a blend has members."""
    kind, tokenizer = card["kind"], card.get("tokenizer", "words")
    if bool(card.get("members")) != (kind == BLEND):
        return [f"kind is {shown(kind)} and it has {len(card.get('members', [])):,} members"]
    if "scale" in card and (len(card["labels"]) != 1 or card.get("multi_label", False)):
        return [f"scale is {shown(card['scale'])} in a model of {len(card['labels']):,} labels"]
    if kind != BLEND and STUDENT_KINDS[kind].tokenizer != tokenizer:
        return [f"tokenizer is {shown(tokenizer)}, which no {kind} has"]
    return []


def _is_text(value: Any) -> bool:
    return isinstance(value, str) and 0 < len(value) <= LONGEST_NAME and _is_unicode(value)


def _is_unicode(text: str) -> bool:
    """JSON can spell half a character, which cannot be written anywhere."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _is_whole(value: Any, *, least: int, most: int) -> bool:
    return type(value) is int and least <= value <= most


def _is_number(value: Any, *, least: float, most: float) -> bool:
    """Not NaN, which is neither less nor more."""
    return type(value) in (int, float) and least <= value <= most


def _are_labels(labels: Any) -> bool:
    is_list = isinstance(labels, list) and 1 <= len(labels) <= MOST_LABELS
    return is_list and all(map(_is_text, labels)) and len(set(labels)) == len(labels)


def _are_members(members: Any) -> bool:
    """Each in a folder of its own, with a share of one."""
    if not isinstance(members, list) or len(members) > MOST_MEMBERS:
        return False
    if not all(isinstance(member, dict) and set(member) == {"folder", "weight"} for member in members):
        return False
    folders, weights = [member["folder"] for member in members], [member["weight"] for member in members]
    if not all(map(_is_text, folders)) or not all(_is_number(weight, least=0, most=1) for weight in weights):
        return False
    return not members or (len(set(folders)) == len(folders) and abs(sum(weights) - 1) <= FROM_ROUNDING)


def _is_abstention(card: dict[str, Any]) -> bool:
    """A score, a threshold that it can have, and an answer; with several labels per row there is none of it."""
    found = card["abstain"]
    if not isinstance(found, dict) or set(found) != {"score", "threshold", "answer"} or card.get("multi_label"):
        return False
    low, high = SCORES.get(found["score"], (1.0, 0.0)) if isinstance(found["score"], str) else (1.0, 0.0)
    answer = found["answer"]
    is_answer = answer is None or _is_text(answer)
    return _is_number(found["threshold"], least=low, most=high) and is_answer


CHECKS: dict[str, Callable[[dict[str, Any]], bool]] = {
    "name": lambda card: _is_text(card["name"]),
    "kind": lambda card: isinstance(card["kind"], str) and card["kind"] in (*STUDENT_KINDS, BLEND),
    "precision": lambda card: card["precision"] in ("fp32", "int8"),
    "labels": lambda card: _are_labels(card["labels"]),
    "language": lambda card: _is_text(card["language"]),
    "pair": lambda card: isinstance(card["pair"], bool),
    "max_length": lambda card: _is_whole(card["max_length"], least=1, most=MOST_TOKENS),
    "parameters": lambda card: _is_whole(card["parameters"], least=0, most=MOST_PARAMETERS),
    "parameters_without_embeddings": lambda card: _is_whole(
        card["parameters_without_embeddings"], least=0, most=MOST_PARAMETERS
    ),
    "multi_label": lambda card: isinstance(card.get("multi_label", False), bool),
    "tokenizer": lambda card: card.get("tokenizer", "words") in ("words", "framed"),
    "temperature": lambda card: _is_number(
        card.get("temperature", 1.0), least=LEAST_TEMPERATURE, most=MOST_TEMPERATURE
    ),
    "members": lambda card: _are_members(card.get("members", [])),
    "abstain": lambda card: "abstain" not in card or _is_abstention(card),
    "scale": lambda card: "scale" not in card or is_scale(card["scale"]),
}
