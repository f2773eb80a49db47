"""Random steps of a graph: each takes some of the values so far and gives more of them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from hashlib import blake2b
from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.dtype import bool_
from cellwire.engine.ops.registry import OPS, Pointwise
from cellwire.engine.tensor import Tensor
from op_samples import SAMPLES

Rng = np.random.Generator
SIZES = (1, 1, 2, 3, 4, 5, 7, 8, 15, 16, 17, 33)
MOST = 6000
"""Elements of a value, at most."""
TAME = ("tanh", "sigmoid", "sin", "relu", "neg", "abs", "erf", "square", "cos", "softsign")
FLOATS = ("float16", "float32", "float32", "float64")
DTYPES = (*FLOATS, "int32", "int64", "uint8", "int8", "bool_", "bfloat16")
UNARY = sorted(
    n for n, op in OPS.items()
    if isinstance(op.lowering, Pointwise) and len(op.inputs) == 1 and op.category in
    ("math", "logic", "activation", "array") and n not in ("cast", "full")
)  # fmt: skip
PAIRS = sorted(
    n for n, op in OPS.items()
    if isinstance(op.lowering, Pointwise) and len(op.inputs) == 2 and op.category in
    ("math", "logic")
)  # fmt: skip
REDUCTIONS = (
    "sum", "sum", "amax", "amax", "amin", "prod", "mean", "all", "any", "var", "logsumexp",
    "argmax", "cumsum", "std",
)  # fmt: skip
SKIPPED_SAMPLES = (
    "cholesky", "lu_factor", "qr", "eigh", "svd", "svdvals", "eigvalsh", "pinv", "lstsq",
    "matrix_rank", "matrix_cond",
)  # fmt: skip
"""Their results are not unique, or they raise errors for most matrices."""
SAMPLES_OF = {
    op: [sample for sample in SAMPLES if sample.op == op]
    for op in dict.fromkeys(sample.op for sample in SAMPLES) if op not in SKIPPED_SAMPLES
}  # fmt: skip


def random_shape(rng: Rng, most: int = 4) -> tuple[int, ...]:
    """Return up to four axes of odd sizes, at times two alike; empty ones are rare."""
    if rng.random() < 0.03:
        return tuple(int(s) for s in rng.choice([0, 1, 3], rng.integers(1, 4)))
    while True:
        shape = [int(s) for s in rng.choice(SIZES, rng.integers(0, most + 1))]
        if len(shape) > 1 and rng.random() < 0.25:
            shape[rng.integers(1, len(shape))] = shape[0]
        if np.prod(shape) <= MOST:
            return tuple(shape)


def random_array(rng: Rng, shape: tuple[int, ...], dtype: str) -> np.ndarray:
    """Return numbers of any kind; some arrays of floats have NaN, infinities and tiny ones."""
    if dtype == "bool":
        return np.asarray(rng.random(shape) < 0.5)
    if dtype[0] in "ui":
        return np.asarray(rng.integers(0 if dtype[0] == "u" else -5, 12, shape), dtype)
    array = np.asarray(rng.normal(size=shape))
    if rng.random() < 0.2 and array.size:
        special = [np.nan, np.inf, -np.inf, -0.0, 0.0, 1e-42, -1e-310, 1e9, -65504.0, 1.0]
        special = special[: rng.choice([1, 4, 10, 10])]
        where = rng.random(shape) < rng.choice([0.02, 0.15])
        array = np.where(where, rng.choice(special, shape), array)
    with np.errstate(all="ignore"):
        return np.asarray(array, dtype)


def pick(rng: Rng, pool: Sequence[Tensor], floats: bool = False) -> Tensor:
    """Return one of the values, the latest ones more often."""
    fits = [t for t in pool if t.dtype.is_float] if floats else list(pool)
    if not fits:
        raise ValueError("there is no float")
    late = fits[-4:] if rng.random() < 0.7 else fits
    return late[rng.integers(len(late))]


def drawn(rng: Rng, names: Sequence[str]) -> str:
    """Return one of the names; where a few are added to them, most seeds still draw the same one.

    That is rendezvous hashing (Thaler and Ravishankar 1996). So new ops change few cases.
    """
    salt = int(rng.integers(2**32)).to_bytes(4, "little")
    return min(names, key=lambda name: blake2b(name.encode(), digest_size=8, salt=salt).digest())


def axis_of(rng: Rng, tensor: Tensor) -> int:
    """Return one of a tensor's axes, from the front or the back."""
    rank = len(tensor.shape)
    if not rank:
        raise ValueError("there is no axis")
    axis = int(rng.integers(rank))
    return axis - rank if rng.random() < 0.4 else axis


def unary(rng: Rng, pool: Sequence[Tensor]) -> Any:
    tame = rng.random() < 0.5
    name = drawn(rng, TAME if tame else UNARY)
    return OPS[name].function(pick(rng, pool, floats=tame))


def pair(rng: Rng, pool: Sequence[Tensor]) -> Any:
    usual = rng.random() < 0.6
    names = ("add", "sub", "mul", "maximum", "div") if usual else PAIRS
    name = drawn(rng, names)
    first = pick(rng, pool)
    if rng.random() < 0.2:
        number = float(rng.choice([0.0, 1.0, -1.0, 2.0, 0.5, -0.0, 3.0]))
        pair = (first, number) if rng.random() < 0.6 else (number, first)
        return OPS[name].function(*pair)
    return OPS[name].function(first, pick(rng, pool))


def choose(rng: Rng, pool: Sequence[Tensor]) -> Any:
    first, second = pick(rng, pool), pick(rng, pool)
    truths = [t for t in pool if t.dtype is bool_]
    condition = truths[rng.integers(len(truths))] if truths else ops.greater(first, second)
    return ops.where(condition, first, second)


def change_dtype(rng: Rng, pool: Sequence[Tensor]) -> Any:
    name = DTYPES[rng.integers(len(DTYPES))]
    source = pick(rng, pool)
    if source.dtype.is_float and name[0] in "iu":  # what NaN and large floats become is not fixed
        source = ops.clamp(ops.nan_to_num(source), 0, 100)
    return ops.cast(source, name)


def reduction(rng: Rng, pool: Sequence[Tensor]) -> Any:
    name = REDUCTIONS[rng.integers(len(REDUCTIONS))]
    source = pick(rng, pool)
    op, keep = OPS[name], bool(rng.random() < 0.5)
    if name in ("argmax", "cumsum"):
        return op.function(source, axis_of(rng, source))
    if name == "logsumexp":
        return op.function(source, axis_of(rng, source), keep)
    rank = len(source.shape)
    count = int(rng.integers(1, rank + 1)) if rank else 0
    if rng.random() < 0.25 and rank > 1:
        return op.function(source, (0,), keep) if name not in ("var", "std") else source.sum(0)
    axes = tuple(int(a) for a in rng.choice(rank, count, replace=False)) if count else None
    if name in ("var", "std"):
        return op.function(source, axes, keepdims=keep)
    return op.function(source, axes, keep)


def view(rng: Rng, pool: Sequence[Tensor]) -> Any:
    source = pick(rng, pool)
    shape: Any = source.shape
    kind = rng.integers(7)
    if kind == 0:
        return ops.transpose(source, tuple(int(a) for a in rng.permutation(len(shape))))
    if kind == 1:
        return ops.reshape(source, refactored(rng, source.size))
    if kind == 2:
        wider = tuple(int(rng.choice(SIZES)) if s == 1 else s for s in shape)
        return ops.broadcast_to(source, ((int(rng.choice(SIZES[:6])), *wider)))
    if kind == 3:
        return ops.expand_dims(source, int(rng.integers(len(shape) + 1)))
    if kind == 4:
        return ops.squeeze(source)
    if kind == 5:
        return ops.flip(source, (axis_of(rng, source) % len(shape),))
    return source[tuple(_cut(rng, size) for size in shape[: rng.integers(len(shape) + 1)])]


def _cut(rng: Rng, size: int) -> Any:
    if rng.random() < 0.2 and size:
        return int(rng.integers(-size, size))
    start, stop = sorted(int(i) for i in rng.integers(0, size + 1, 2))
    step = int(rng.choice([1, 1, 1, 2, 3, -1, -2]))
    if step > 0:
        return slice(start, None if rng.random() < 0.5 else stop, step)
    return slice(None, None, step)


def refactored(rng: Rng, size: int) -> tuple[int, ...]:
    """Return another shape with as many elements."""
    if not size:
        return (0, 2)
    shape: list[int] = []
    while size > 1 and len(shape) < 4 and rng.random() < 0.8:
        divisors = [d for d in range(1, size + 1) if size % d == 0]
        shape.append(int(rng.choice(divisors)))
        size //= shape[-1]
    return (*shape, size)


def product(rng: Rng, pool: Sequence[Tensor]) -> Any:
    first = pick(rng, pool, floats=True)
    kind = rng.random()
    if len(first.shape) < 2:
        first = ops.reshape(first, refactored(rng, first.size)[-1:] if kind < 0.3 else (1, -1))
    width, depth = int(rng.choice(SIZES)), first.shape[-1]
    weight = random_array(rng, (depth, width), "float32") * 0.5
    second = ops.cast(Tensor(weight), first.dtype)
    if kind < 0.2:
        return ops.matmul(first, second)
    if kind < 0.4:
        made = ops.matmul(first, second)
        return made, ops.tanh(made), made * 0.5
    if kind < 0.6:
        bias = ops.cast(Tensor(random_array(rng, (width,), "float32")), first.dtype)
        return ops.relu(ops.dense(first, ops.transpose(second, (1, 0)) + 0, bias))
    if kind < 0.8:
        return ops.matmul(ops.swapaxes(first, -1, -2), first)
    return ops.matmul(first, ops.swapaxes(first, -1, -2))


def rows(rng: Rng, pool: Sequence[Tensor]) -> Any:
    source = pick(rng, pool, floats=True)
    axis = axis_of(rng, source)
    kind = rng.integers(6)
    if kind < 3:
        return (ops.softmax, ops.log_softmax, ops.softmin)[kind](source, axis)
    if kind == 3:
        size = source.shape[-1:]
        gain, bias = ops.ones(size, source.dtype), ops.zeros(size, source.dtype)
        return ops.layer_norm(source, size, gain, bias)
    if kind == 4:
        return source - ops.amax(source, axis, True)
    return ops.gelu(source)


def planes(rng: Rng, pool: Sequence[Tensor]) -> Any:
    """Convolutions and pools, of a value that is taken for some small images."""
    source = pick(rng, pool, floats=True)
    kinds = ((1, 3, 5, 5), (2, 4, 4, 4), (1, 2, 7, 3), (2, 16, 3, 3), (3, 1, 6, 6))
    shape = kinds[rng.integers(len(kinds))]
    need = int(np.prod(shape))
    if source.size < need:
        source = ops.broadcast_to(ops.reshape(source, (-1,))[:1], (need,))
    images = ops.reshape(ops.reshape(source, (-1,))[:need], shape)
    if rng.random() < 0.5:
        pool2d = (ops.max_pool2d, ops.avg_pool2d)[rng.integers(2)]
        return pool2d(images, 2, int(rng.integers(1, 3)))
    groups = int(rng.choice([1, 1, 2])) if shape[1] % 2 == 0 else 1
    made = int(rng.choice([2, 4, 16])) if groups == 2 else int(rng.choice([1, 3, 16, 17]))
    size = int(rng.choice([1, 2, 3]))
    weight = random_array(rng, (made, shape[1] // groups, size, size), "float32")
    kernel = ops.cast(Tensor(weight), images.dtype)
    return ops.conv2d(
        images, kernel, stride=int(rng.choice([1, 1, 2])), padding=int(rng.integers(2)),
        groups=groups,
    )  # fmt: skip


def joining(rng: Rng, pool: Sequence[Tensor]) -> Any:
    source = pick(rng, pool)
    axis = axis_of(rng, source)
    kind = rng.integers(6)
    if kind == 0:
        twins = [t for t in pool if t.shape == source.shape and t.dtype is source.dtype]
        return ops.concat((source, twins[rng.integers(len(twins))], source), axis)
    if kind == 1:
        return ops.stack((source, source), axis)
    size: Any = source.shape[axis]
    if kind == 2:
        positions = rng.integers(0, size, rng.integers(1, 6)).astype(np.int32)
        return ops.gather(source, Tensor(positions), axis)
    if kind == 3:
        return ops.split(source, int(rng.integers(1, size + 1)), axis)[-1]
    if kind == 4:
        return ops.roll(source, int(rng.integers(1, 4)), axis)
    return ops.tril(source, int(rng.integers(-1, 2)))


def sample(rng: Rng, pool: Sequence[Tensor]) -> Any:
    """One of the samples of the op table, some of its floats taken from the graph."""
    uses = SAMPLES_OF[drawn(rng, [*SAMPLES_OF])]
    chosen = uses[rng.integers(len(uses))]
    dtype = FLOATS[rng.integers(len(FLOATS))]
    linear = OPS[chosen.op].category == "linalg"
    given: list[Tensor] = []
    for array in chosen.arrays:
        ours = Tensor(array.astype(dtype) if array.dtype.kind == "f" else array)
        fits = [t for t in pool if t.dtype.is_float and t.size >= array.size > 0]
        if array.dtype.kind == "f" and fits and rng.random() < 0.4 and not linear:
            source = fits[rng.integers(len(fits))]
            cut = ops.reshape(ops.reshape(source, (-1,))[: array.size], array.shape)
            ours = ops.cast(ops.tanh(cut), dtype)
        given.append(ours)
    return chosen.call(*given)


def mirrored(rng: Rng, pool: Sequence[Tensor]) -> Any:
    """A value together with itself in another order, or with what its rows come to."""
    source = pick(rng, pool, floats=True)
    axis, kind, shape = axis_of(rng, source), rng.integers(5), tuple(source.shape)
    if kind == 0:
        other = ops.flip(source, (axis % len(shape),))
    elif kind == 1:
        other = ops.roll(source, 1, axis)
    elif kind == 2:
        other = source[:1]
    elif kind == 3:
        other = (ops.mean, ops.amax, ops.amin)[rng.integers(3)](source, axis, True)
    else:
        others = [at for at, size in enumerate(shape) if size == shape[axis]]
        other = ops.swapaxes(source, axis, others[rng.integers(len(others))])
    return OPS[("add", "sub", "mul")[rng.integers(3)]].function(source, other)


def twins(rng: Rng, pool: Sequence[Tensor]) -> Any:
    """Two functions of two values of one shape, or one of both in either order: kernels alike."""
    first = pick(rng, pool, floats=True)
    alike = [t for t in pool if t.aval == first.aval and t is not first]
    second = alike[rng.integers(len(alike))]
    if rng.random() < 0.3:
        both = OPS[drawn(rng, ("sub", "div", "greater", "pow", "atan2"))].function
        return both(first, second), both(second, first)
    names = rng.choice(TAME, 2, replace=False)
    return OPS[names[0]].function(first), OPS[names[1]].function(second)


def signs(rng: Rng, pool: Sequence[Tensor]) -> Any:
    """Zeros of either sign, what numbers that change little make of them, and where it is seen."""
    source = pick(rng, pool, floats=True)
    source = source * float(rng.choice([0.0, -0.0])) if rng.random() < 0.5 else source
    number = float(rng.choice([0.0, 0.0, -0.0, 1.0, -1.0]))
    name = rng.choice(["add", "add", "sub", "mul"])
    pair = (source, number) if rng.random() < 0.6 else (number, source)
    made = OPS[str(name)].function(*pair)
    return ops.reciprocal(made) if rng.random() < 0.7 else made


def constant(rng: Rng, pool: Sequence[Tensor]) -> Any:
    """A value that depends on no number of the graph."""
    source = pick(rng, pool, floats=True)
    kind = rng.integers(3)
    if kind == 0:
        return ops.full_like(source, float(rng.integers(-2, 3)))
    if kind == 1:
        return ops.zeros_like(source) + 0.5
    return ops.tanh(Tensor(random_array(rng, tuple(source.shape), "float32")))


def update(rng: Rng, pool: Sequence[Tensor], inputs: Sequence[Tensor]) -> Any:
    """One of the inputs as it may be updated: by itself, a value, or a product, of its shape."""
    target = pick(rng, inputs, floats=True)
    alike = [t for t in pool if t.aval == target.aval and t is not target]
    if not alike or rng.random() < 0.3:
        return mirrored(rng, (target,))
    change = alike[rng.integers(len(alike))]
    if len(target.shape) > 1 and rng.random() < 0.5:
        size = target.shape[-1]
        weight = Tensor(random_array(rng, (size, size), "float32"))
        change = ops.matmul(change, ops.cast(weight, change.dtype))
    return target - change * 0.5


STEPS: tuple[tuple[float, Callable[[Rng, Sequence[Tensor]], Any]], ...] = (
    (20, unary), (20, pair), (4, choose), (4, change_dtype), (12, reduction), (14, view),
    (7, product), (8, rows), (3, planes), (5, joining), (8, sample), (6, mirrored), (3, twins),
    (4, signs), (2, constant),
)  # fmt: skip
