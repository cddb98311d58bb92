"""kvcap in Python: simulates and plans the state of LLM serving across GPU, DRAM, SSD and remote tiers.

    >>> import kvcap
    >>> result = kvcap.Scenario("demo").set("policy.name", "kv_offload").run()
    >>> result.metrics["mean_ttft_ms"]

The package starts the program ``kvcap`` and reads its JSON. It finds it at ``KVCAP_BIN``, inside the package, or
on PATH. It needs Python 3.8 and nothing else; ``to_frame()`` uses pandas and ``plot()`` matplotlib.
"""

from ._errors import CheckFailed, Error, InputError, ProgramError
from ._program import program
from ._results import Answer, Comparison, Metrics, PlanResult, Restorations, Result, SweepResult
from ._scenario import Scenario, fit, plan, restore, run_all, show, sweep

__all__ = [
    "Answer",
    "CheckFailed",
    "Comparison",
    "Error",
    "InputError",
    "Metrics",
    "PlanResult",
    "ProgramError",
    "Restorations",
    "Result",
    "Scenario",
    "SweepResult",
    "fit",
    "plan",
    "program",
    "restore",
    "run_all",
    "show",
    "sweep",
]
