"""Loading data sets of the Hugging Face hub, and folders that `save_to_disk` or parquet files make of them."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from limbeck.errors import DependencyMissing, FileUnreadable, HubUnreachable
from limbeck.recipe.files import why_no_hub

# Collections whose name before the slash is a data set and after it a configuration.
COLLECTIONS = frozenset({"glue", "super_glue", "clue", "tweet_eval", "xglue", "xtreme"})


def candidates(name: str) -> list[tuple[str, str | None]]:
    """The data set and configuration that a name may mean, the likeliest first.

    "imdb" → imdb. "glue/sst2" → configuration sst2 of glue, since glue is a known collection. "user/reviews" →
    the data set user/reviews, then configuration reviews of user. "user/set/part" → configuration part.
    """
    steps = name.split("/")
    if len(steps) == 1:
        return [(name, None)]
    if len(steps) > 2:
        return [("/".join(steps[:2]), "/".join(steps[2:]))]
    whole, cut = (name, None), (steps[0], steps[1])
    return [cut, whole] if steps[0] in COLLECTIONS else [whole, cut]


def load_data_set(name: str, *, streaming: bool = False) -> Any:
    """Its splits by name: of a folder or of the hub. Streamed rows come as they are read, and nothing is fetched whole.

    What was fetched before is read from there where the hub is not in reach.
    """
    try:
        import datasets
    except ImportError:
        raise DependencyMissing(package="datasets", purpose="reading a hub data set", extra="train") from None
    folder = Path(name)
    if folder.is_dir():
        return _load_folder(folder, streaming=streaming)
    tried = []
    why = why_no_hub()
    options = {"streaming": True} if streaming and why is None else {}
    for path, configuration in candidates(name):
        tried.append(path if configuration is None else f"configuration {configuration} of {path}")
        try:
            with _from_cache_alone(datasets.config, why=why):
                return datasets.load_dataset(path, configuration, **options)
        except (ConnectionError, TimeoutError) as error:
            raise HubUnreachable(name=name, tried=tried, reason=_first_line(error)) from None
        except (OSError, ValueError, RuntimeError) as error:  # no such data set, no such configuration, needs code
            reason = _first_line(error)
    raise HubUnreachable(name=name, tried=tried, reason=reason)


@contextmanager
def _from_cache_alone(config: Any, *, why: str | None) -> Iterator[None]:
    """Without a hub in reach, let `datasets` look at what was fetched before: else it retries for long, and aloud."""
    before = config.HF_HUB_OFFLINE
    config.HF_HUB_OFFLINE = before or why is not None
    try:
        yield
    except ConnectionError as error:
        raise ConnectionError(f"{why or error}, and nothing of that name was fetched before") from None
    finally:
        config.HF_HUB_OFFLINE = before


def _load_folder(folder: Path, *, streaming: bool) -> Any:
    import datasets

    if (folder / "dataset_dict.json").is_file():
        return datasets.load_from_disk(str(folder))
    if (folder / "state.json").is_file():
        return {"train": datasets.load_from_disk(str(folder))}
    try:
        return datasets.load_dataset(str(folder), **({"streaming": True} if streaming else {}))
    except (OSError, ValueError, RuntimeError) as error:
        raise FileUnreadable(path=folder, kind="a data set", reason=_first_line(error)) from None


def _first_line(error: Exception) -> str:
    return (str(error).splitlines() or [type(error).__name__])[0]
