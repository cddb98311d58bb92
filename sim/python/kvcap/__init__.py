"""kvcap in Python: simulates LLM serving with KV caches in GPU, DRAM, SSD and remote tiers, and plans the hardware.

    >>> import kvcap
    >>> result = kvcap.Scenario("demo").set("policy.name", "kv_offload").run()
    >>> result.metrics["mean_ttft_ms"]

The package runs the program ``kvcap`` and reads its JSON. The program is the one that ``KVCAP_BIN`` names, otherwise
the one inside the package, otherwise the one on PATH. The package needs only Python 3.8 or later; ``to_frame()`` also
needs pandas, and ``plot()`` matplotlib.
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
