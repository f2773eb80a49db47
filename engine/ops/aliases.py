"""Other names of ops, as MindSpore's scripts spell them."""

from .arithmetic import floor_div, mul, sub
from .clipping import clamp
from .division import div
from .logic import equal, greater, greater_equal, less, less_equal, not_equal
from .math import abs as _abs
from .math import neg, sign

absolute = _abs
clip = clamp
eq = equal
floor_divide = floor_div
ge = greater_equal
gt = greater
le = less_equal
lt = less
multiply = mul
ne = not_equal
negative = neg
sgn = sign
subtract = sub
true_divide = div
