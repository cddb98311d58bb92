"""The results of commands: their JSON, metrics by name, pandas frames and plots."""

import difflib
import html
import sqlite3
from pathlib import Path
from typing import Any, Dict, Iterator, List, Mapping, Optional, Sequence, Tuple, Union

Number = Union[int, float]

# The metrics in the short table of a result.
_SHOWN = ("mean_ttft_ms", "p99_ttft_ms", "mean_tpot_ms", "token_hit_rate", "output_throughput", "cost.usd_per_hour")


class Metrics(Mapping[str, Any]):
    """A result's metrics by name: ``metrics["p99_ttft_ms"]``, ``metrics["stable.verdict"]``, ``metrics["stable"]``."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self._values = values

    def __getitem__(self, name: str) -> Any:
        value: Any = self._values
        for key in name.split("."):
            if not isinstance(value, Mapping) or key not in value:
                raise KeyError(_unknown(name, self.flat()))
            value = value[key]
        return value

    def __iter__(self) -> Iterator[str]:
        return iter(self._values)

    def __len__(self) -> int:
        return len(self._values)

    def __repr__(self) -> str:
        return f"Metrics({self.flat()!r})"

    def flat(self) -> Dict[str, Any]:
        """Returns all metrics by full name, such as ``"cost.usd_per_hour"``."""
        return dict(_flat(self._values, ""))


class Answer(Mapping[str, Any]):
    """The JSON that a command printed."""

    def __init__(self, values: Mapping[str, Any]) -> None:
        self.json: Mapping[str, Any] = values

    def __getitem__(self, key: str) -> Any:
        return self.json[key]

    def __iter__(self) -> Iterator[str]:
        return iter(self.json)

    def __len__(self) -> int:
        return len(self.json)

    def __repr__(self) -> str:
        return f"<kvcap {type(self).__name__} {self.json.get('schema', '')}>"

    @property
    def notes(self) -> List[str]:
        """The assumptions and caveats of the figures."""
        return list(self.json.get("notes", []))


class Result(Answer):
    """The simulation of one setting."""

    @property
    def metrics(self) -> Metrics:
        return Metrics(self.json["metrics"])

    @property
    def name(self) -> str:
        """The name of the setting in a comparison; otherwise the policy."""
        return str(self.json.get("setting") or self.json["policy"])

    @property
    def scenario(self) -> Mapping[str, Any]:
        """The scenario with every default, which reproduces this result."""
        return self.json["scenario"]

    @property
    def intervals(self) -> Mapping[str, Any]:
        return self.json["intervals"]

    def to_frame(self) -> Any:
        """Returns the run over time as a pandas frame: one row per time bin, one column per series."""
        return _pandas().DataFrame(self.json["series"])

    def plot(self, names: Sequence[str] = ("running", "waiting", "token_hit_rate", "mean_ttft_ms")) -> Any:
        """Plots series of the run over time, each on its own axes; returns the matplotlib figure."""
        series = self.json["series"]
        shown = [name for name in names if name in series]
        figure, axes = _pyplot().subplots(len(shown), 1, sharex=True, squeeze=False, figsize=(8, 2 * len(shown)))
        for axis, name in zip(axes[:, 0], shown):
            axis.plot(series["time_s"], [float("nan") if one is None else one for one in series[name]])
            axis.set_ylabel(name)
        axes[-1, 0].set_xlabel("time, s")
        figure.suptitle(f"{self.scenario.get('name', '')}: {self.name}")
        return figure

    def _repr_html_(self) -> str:
        return _table([("metric", self.name)] + [(name, _shown(self.metrics[name])) for name in _known([self])])


class Comparison(Answer):
    """Several settings under the same workload; differences are relative to the first one."""

    @property
    def results(self) -> List[Result]:
        return [Result(one) for one in self.json["results"]]

    @property
    def differences(self) -> List[Mapping[str, Any]]:
        return self.json["differences"]

    def __getitem__(self, key: Union[str, int]) -> Any:
        return self.results[key] if isinstance(key, int) else self.json[key]

    def to_frame(self) -> Any:
        """Returns a pandas frame with one row per setting and one column per metric."""
        rows = [one.metrics.flat() for one in self.results]
        return _pandas().DataFrame(rows, index=[one.name for one in self.results])

    def plot(self, metric: str = "mean_ttft_ms") -> Any:
        """Plots a metric of every setting as bars, with its 95 % interval if it has one; returns the matplotlib figure."""
        results = self.results
        widths = [one.intervals.get(metric, {}).get("half_width") or 0 for one in results]
        return _bars([one.name for one in results], [one.metrics[metric] for one in results], metric, widths)

    def _repr_html_(self) -> str:
        results = self.results
        rows = [(name, *[_shown(one.metrics[name]) for one in results]) for name in _known(results)]
        return _table([("metric", *[one.name for one in results])] + rows)


class Restorations(Answer):
    """How long each policy takes to restore one context."""

    def to_frame(self) -> Any:
        """Returns a pandas frame with one row per policy."""
        rows = [{name: value for name, value in one.items() if not isinstance(value, (list, dict))}
                for one in self.json["policies"]]
        return _pandas().DataFrame(rows).set_index("policy")

    def plot(self) -> Any:
        """Plots the TTFT of every policy as bars; returns the matplotlib figure."""
        policies = self.json["policies"]
        return _bars([one["policy"] for one in policies], [one["ttft_s"] for one in policies], "ttft_s")

    def _repr_html_(self) -> str:
        return _table([("policy", "restore_s", "ttft_s")] +
                      [(one["policy"], _shown(one["restore_s"]), _shown(one["ttft_s"])) for one in self.json["policies"]])


class PlanResult(Answer):
    """The cheapest configuration that meets the targets."""

    @property
    def answer(self) -> Optional[Mapping[str, Any]]:
        return self.json.get("answer")

    def to_frame(self) -> Any:
        """Returns the Pareto front as a pandas frame, one row per configuration."""
        return _pandas().DataFrame([dict(_flat(one, "")) for one in self.json.get("front", [])])

    def _repr_html_(self) -> str:
        return _table([("answer", "")] + [(name, _shown(one)) for name, one in _flat(self.answer or {}, "")])


class SweepResult:
    """The finished points of a sweep, from ``results.sqlite`` in its folder."""

    def __init__(self, folder: Union[str, "Path"]) -> None:
        self.folder = Path(folder)

    @property
    def file(self) -> Path:
        return self.folder / "results.sqlite"

    @property
    def rows(self) -> List[Dict[str, Any]]:
        """One dictionary per point, with the swept fields, the status and the metrics."""
        database = sqlite3.connect(f"file:{self.file}?mode=ro", uri=True)
        try:
            found = database.execute("SELECT * FROM results ORDER BY point")
            names = [column[0] for column in found.description]
            return [dict(zip(names, row)) for row in found]
        finally:
            database.close()

    def to_frame(self) -> Any:
        """Returns a pandas frame with one row per point."""
        return _pandas().DataFrame(self.rows)

    def __len__(self) -> int:
        return len(self.rows)

    def __repr__(self) -> str:
        return f"<kvcap SweepResult {self.file}>"


def _flat(values: Mapping[str, Any], before: str) -> Iterator[Tuple[str, Any]]:
    for name, value in values.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{before}{name}.")
        elif not isinstance(value, list):
            yield before + name, value


def _unknown(name: str, known: Mapping[str, Any]) -> str:
    near = difflib.get_close_matches(name, known, 1)
    return f"{name}: unknown metric" + (f"; did you mean {near[0]!r}?" if near else "")


def _known(results: Sequence[Result]) -> List[str]:
    return [name for name in _SHOWN if all(name in one.metrics.flat() for one in results)]


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else "-" if value is None else str(value)


def _table(rows: Sequence[Sequence[str]]) -> str:
    def line(cells: Sequence[str], kind: str) -> str:
        return "<tr>" + "".join(f"<{kind}>{html.escape(one)}</{kind}>" for one in cells) + "</tr>"

    return "<table>" + line(rows[0], "th") + "".join(line(row, "td") for row in rows[1:]) + "</table>"


def _bars(names: Sequence[str], values: Sequence[Number], label: str, half_widths: Sequence[Number] = ()) -> Any:
    figure, axis = _pyplot().subplots(figsize=(8, 0.5 * len(names) + 1))
    axis.barh(range(len(names)), values, xerr=half_widths if any(half_widths) else None)
    axis.set_yticks(range(len(names)))
    axis.set_yticklabels(names)
    axis.invert_yaxis()
    axis.set_xlabel(label)
    return figure


def _pandas() -> Any:
    try:
        import pandas
    except ImportError as error:
        raise ImportError("to_frame() needs pandas: python -m pip install pandas") from error
    return pandas


def _pyplot() -> Any:
    try:
        from matplotlib import pyplot
    except ImportError as error:
        raise ImportError("plot() needs matplotlib: python -m pip install matplotlib") from error
    return pyplot
