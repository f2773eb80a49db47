"""The compiler: tracing, graph IR, fusion, lowering, plans and ``jit``."""

from .. import autograd as _autograd  # noqa: F401  # isort: skip - it stands below the compiler
from .branches import traced_cond
from .eager import compiled_kernel, install
from .graph import Graph, Node, Value, interpret, verify
from .jit import JitError, Jitted, JitWarning, call_compiled, explain, jit
from .plan import Plan, compile_graph
from .report import Report
from .trace import Trace, abstract_eval, trace
from .traced import TraceBreak, Traced
from .traced_loops import traced_scan, traced_while

install()

__all__ = [
    "Graph",
    "JitError",
    "JitWarning",
    "Jitted",
    "Node",
    "Plan",
    "Report",
    "Trace",
    "TraceBreak",
    "Traced",
    "Value",
    "abstract_eval",
    "call_compiled",
    "compile_graph",
    "compiled_kernel",
    "explain",
    "install",
    "interpret",
    "jit",
    "trace",
    "traced_cond",
    "traced_scan",
    "traced_while",
    "verify",
]
