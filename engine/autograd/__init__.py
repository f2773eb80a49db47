"""Gradients: records of what ran, and the gradient graph made from one."""

from .custom import custom_bprop
from .gradgraph import compiling_at_once, gradient_graph, gradients
from .record import Record, is_recording, no_grad
from .transforms import GradOperation, grad, value_and_grad

__all__ = [
    "GradOperation",
    "Record",
    "compiling_at_once",
    "custom_bprop",
    "grad",
    "gradient_graph",
    "gradients",
    "is_recording",
    "no_grad",
    "value_and_grad",
]
