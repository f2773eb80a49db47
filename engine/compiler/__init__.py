"""The compiler: tracing, graph IR, fusion, lowering, plans and ``jit``.

Its files by stage, in the order in which a call meets them:

- a call: ``jit options jitted arguments structure kept quick_calls specialisation background
  reasons explaining``; without ``jit``: ``eager in_place``
- what differs between calls: ``open_sizes open_plans asking``
- tracing: ``making garbage trace traced subgraph branches looping traced_loops``
- what traced code reads: ``watch walker bytecode stack_flow functions effects library chains
  guards given_back fallback matching``
- what it does outside its graph: ``journal openings locations stores host_numbers printing
  encoding replay``
- the graph: ``graph graph_op differentiate``
- simplifying: ``simplify expansion widening constants algebra algebra_views algebra_pieces casts
  scaling recompute``
- fusing: ``fuse dependences cost space access``
- lowering: ``planner lower parameters kernel_memory loop_kernel pointwise gemm
  native_step``
- ops with kernels of their own: ``native_ops native_families windowed conv_ending pooling recurrent
  attention indexed moving drawing running resampling ordering``
- threads and memory: ``cutting arena memory write_back binding``
- plans: ``plan runs native_loops kept_plans report debug``
"""

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
