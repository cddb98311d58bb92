"""Scenarios, and the commands of the program as functions."""

import contextlib
import json
import os
import tempfile
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Union

from ._errors import CheckFailed, InputError
from ._program import call, option_words, set_words
from ._results import Answer, Comparison, PlanResult, Restorations, Result, SweepResult

Source = Union[str, "os.PathLike[str]", Mapping[str, Any], None]


class Scenario:
    """A setting to simulate: a file, the name of a shipped scenario, a dictionary, or options of the command line.

        Scenario("scenarios/chat-7b.json")
        Scenario({"schema": "kvcap.scenario/1", "model": "llama-2-7b", ...})
        Scenario(model="llama-3.1-8b", gpu="h100-sxm", workload="chat", rate=2)
        Scenario("demo", from_="vllm serve Qwen/Qwen3-8B -tp 2")

    A scenario is immutable: ``set`` returns a changed copy. Paths inside a dictionary are relative to the current
    folder.
    """

    def __init__(self, source: Source = None, **options: Any) -> None:
        self._source = source
        self._options = options
        self._changes: Dict[str, Any] = {}

    def set(self, path: str, value: Any) -> "Scenario":
        """Returns the scenario with a field set.

        Examples: ``set("serving.max_num_seqs", 64)``, ``set("policy", {"name": "hcache"})``. A later change of the
        same field replaces an earlier one.
        """
        other = Scenario(self._source, **self._options)
        other._changes = {key: old for key, old in self._changes.items() if key != path}
        other._changes[path] = value
        return other

    def run(self, **options: Any) -> Result:
        """Simulates the scenario, with options of ``kvcap run``: ``require="p99_ttft_ms<=500"``, ``out="folder"``."""
        return self._ask("run", options, Result)

    def compare(self, policies: Sequence[str] = (), over: Optional[Mapping[str, Sequence[Any]]] = None,
                **options: Any) -> Comparison:
        """Runs the same workload with several settings: policies, values of fields, or both."""
        return self._ask("compare", {"policies": list(policies) or None, "over": over, **options}, Comparison)

    def capacity(self, **options: Any) -> Answer:
        """Finds the highest load that meets the targets in ``meet`` or in the scenario's ``slo``."""
        return self._ask("capacity", options, Answer)

    def plan(self, **options: Any) -> PlanResult:
        """Finds the cheapest configuration that meets the targets in ``meet``."""
        return self._ask("plan", options, PlanResult)

    def _ask(self, command: str, options: Mapping[str, Any], answer: Any) -> Any:
        with _file_of(self._source) as file:
            words = [*file, *option_words({**self._options, **options}), *set_words(self._changes)]
            return _called(command, words, answer)

    def __repr__(self) -> str:
        words = [] if self._source is None else [repr(self._source)]
        text = "Scenario(" + ", ".join(words + [f"{name}={value!r}" for name, value in self._options.items()]) + ")"
        return text + "".join(f".set({path!r}, {value!r})" for path, value in self._changes.items())


def run_all(scenarios: Sequence[Scenario], jobs: Optional[int] = None, **options: Any) -> List[Result]:
    """Runs several scenarios in parallel and returns their results in order.

    At most ``jobs`` run at once (default: one per core). Shows progress if tqdm is installed.
    """
    with ThreadPoolExecutor(jobs or os.cpu_count() or 1) as pool:
        results = pool.map(lambda one: one.run(**options), scenarios)
        return list(_with_progress(results, len(scenarios)))


def plan(source: Source, **options: Any) -> PlanResult:
    """Finds the cheapest configuration of a plan (``kvcap.plan/1``), which is a file or a dictionary."""
    with _file_of(source) as file:
        return _called("plan", [*file, *option_words(options)], PlanResult)


def sweep(source: Source, out: Union[str, "os.PathLike[str]"], **options: Any) -> SweepResult:
    """Runs every point of a sweep (``kvcap.sweep/1``) into ``out/results.sqlite``; ``resume=True`` completes the file."""
    with _file_of(source) as file:
        call(["sweep", *file, *option_words({"out": os.fspath(out), **options})], json_output=False)
    return SweepResult(out)


def fit(runs: Union[str, Sequence[str]], base: str, out: Union[str, "os.PathLike[str]"], **options: Any) -> Answer:
    """Fits an engine's times to measured runs, from the hardware profile ``base``; writes the fitted one to ``out``."""
    listed = [runs] if isinstance(runs, str) else list(runs)
    return _called("fit", [*listed, *option_words({"base": base, "out": os.fspath(out), **options})], Answer)


def restore(model: str, hardware: str, tokens: int, policy: str = "all", **options: Any) -> Restorations:
    """Computes how long each policy takes to restore one context on an idle machine."""
    named = {"model": model, "hardware": hardware, "tokens": tokens, "policy": policy, **options}
    return _called("restore", option_words(named), Restorations)


def show(what: str, name: Optional[str] = None, **options: Any) -> Any:
    """Returns the catalogue: ``show("models")``, ``show("hardware", "h100-sxm")``, ``show("memory", model=..., ...)``."""
    return call(["show", what, *([name] if name else []), *option_words(options)])


def _called(command: str, words: Sequence[str], answer: Any) -> Any:
    try:
        return answer(call([command, *words]))
    except CheckFailed as error:
        if isinstance(error.result, Mapping):
            error.result = answer(error.result)
        raise


@contextlib.contextmanager
def _file_of(source: Source) -> Iterator[List[str]]:
    """Yields the words that name the source; a dictionary is written to a temporary file, in the current folder."""
    if not isinstance(source, Mapping):
        yield [] if source is None else [os.fspath(source)]
        return
    folder = os.getcwd() if os.access(os.getcwd(), os.W_OK) else None
    handle, path = tempfile.mkstemp(prefix=".kvcap-", suffix=".json", dir=folder)
    try:
        with os.fdopen(handle, "w", encoding="utf-8") as file:
            json.dump(source, file)
        yield [path]
    except InputError as error:
        raise InputError(str(error).replace(path, "dictionary")) from None
    except CheckFailed as error:
        raise CheckFailed(str(error).replace(path, "dictionary"), error.result) from None
    finally:
        os.unlink(path)


def _with_progress(results: Iterator[Result], total: int) -> Iterator[Result]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return results
    return tqdm(results, total=total, unit="run")
