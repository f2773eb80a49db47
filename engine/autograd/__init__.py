"""Gradients: records of what ran, and the gradient graph made from one."""

from .custom import custom_bprop
from .grad_operation import GradOperation
from .gradgraph import compiling_at_once, gradient_graph, gradients
from .jacobians import jacfwd, jacrev
from .products import jvp, linearize, vjp
from .record import Record, is_recording, no_grad
from .tensor_hooks import HookBackward
from .transforms import get_grad, grad, value_and_grad

from .recompute import recompute  # isort: skip - the compiler stands on what is above

__all__ = [
    "GradOperation",
    "HookBackward",
    "Record",
    "compiling_at_once",
    "custom_bprop",
    "get_grad",
    "grad",
    "gradient_graph",
    "gradients",
    "is_recording",
    "jacfwd",
    "jacrev",
    "jvp",
    "linearize",
    "no_grad",
    "recompute",
    "value_and_grad",
    "vjp",
]
