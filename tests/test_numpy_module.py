"""cellwire.numpy: NumPy's results, as tensors, with gradients and in static graphs."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

import cellwire as cw
import cellwire.numpy as cnp
import numpy as np
import pytest
from numpy.typing import NDArray

RNG = np.random.default_rng(3)
M = RNG.standard_normal((3, 4))
P = np.abs(M) + 0.2
UNIT = np.tanh(M) * 0.9
CUBE = RNG.standard_normal((2, 3, 4))
VECTOR = np.array([3.0, -1.0, 4.0, 1.5, -9.0])
INTS = np.array([[3, 1, 4], [1, 5, 9]])
TRUTH = np.array([[True, False, True], [False, False, True]])
HOLES = np.where(np.abs(M) < 0.5, np.nan, M)

UNARY = {
    "absolute": M, "negative": M, "positive": M, "sign": M, "square": M, "sqrt": P, "cbrt": M,
    "reciprocal": P, "exp": M, "exp2": M, "expm1": M, "log": P, "log2": P, "log10": P, "log1p": P,
    "sin": M, "cos": M, "tan": UNIT, "arcsin": UNIT, "arccos": UNIT, "arctan": M, "sinh": M,
    "cosh": M, "tanh": M, "arcsinh": M, "arccosh": P + 1, "arctanh": UNIT, "deg2rad": M,
    "rad2deg": M, "radians": M, "degrees": M, "floor": M, "ceil": M, "trunc": M, "fix": M,
    "rint": M, "isnan": HOLES, "isinf": HOLES, "isfinite": HOLES, "isposinf": M, "isneginf": M,
    "signbit": M, "logical_not": TRUTH, "invert": INTS, "bitwise_not": TRUTH, "abs": M,
    "nan_to_num": HOLES, "ravel": M, "transpose": CUBE, "squeeze": M[None], "atleast_1d": 2.5,
    "atleast_2d": VECTOR, "atleast_3d": M, "flip": CUBE, "flipud": M, "fliplr": M, "rot90": M,
    "diag": M, "diagflat": M, "diagonal": CUBE, "tril": M, "triu": CUBE, "trace": M, "sum": CUBE,
    "prod": M, "mean": CUBE, "nansum": HOLES, "nanmean": HOLES, "amax": CUBE, "amin": CUBE,
    "max": M, "min": M, "nanmax": HOLES, "nanmin": HOLES, "ptp": M, "any": TRUTH, "all": TRUTH,
    "var": CUBE, "std": CUBE, "nanvar": HOLES, "nanstd": HOLES, "average": M, "argmax": M,
    "argmin": M, "cumsum": M, "cumprod": UNIT, "nancumsum": HOLES, "diff": M, "ediff1d": M,
    "cov": M, "corrcoef": M, "median": M, "count_nonzero": TRUTH, "nonzero": TRUTH,
    "unique": INTS, "sort": M, "argsort": M, "bincount": INTS[1], "zeros_like": M, "ones_like": M,
    "array": INTS, "asarray": M, "copy": M, "vander": VECTOR, "unwrap": VECTOR * 3, "ndim": CUBE,
    "shape": CUBE, "size": CUBE, "where": TRUTH, "around": M,
}  # fmt: skip
BINARY = {
    "add": (M, M[0]), "subtract": (M, P), "multiply": (M, P), "divide": (M, P),
    "true_divide": (INTS, INTS[0]), "floor_divide": (INTS, INTS[0]), "remainder": (M, P),
    "mod": (INTS, INTS[::-1]), "fmod": (M, P), "power": (P, M), "float_power": (P, M),
    "maximum": (M, P), "minimum": (M, P), "hypot": (M, P), "arctan2": (M, P), "logaddexp": (M, P),
    "logaddexp2": (M, P), "copysign": (M, P), "heaviside": (M, P), "gcd": (INTS, INTS[::-1]),
    "lcm": (INTS, INTS[0]), "equal": (INTS, 1), "not_equal": (INTS, 1), "less": (M, P),
    "less_equal": (M, P), "greater": (M, P), "greater_equal": (M, P),
    "logical_and": (TRUTH, TRUTH[0]),
    "logical_or": (TRUTH, TRUTH[0]), "logical_xor": (TRUTH, TRUTH[0]), "bitwise_and": (INTS, 5),
    "bitwise_or": (INTS, 5), "bitwise_xor": (INTS, 5), "isclose": (M, M + 1e-9),
    "matmul": (M, CUBE[0].T),
    "dot": (M, M.T), "inner": (M, M), "outer": (VECTOR, M), "vdot": (M, M), "kron": (M, INTS * 1.0),
    "convolve": (VECTOR, M[0]), "correlate": (VECTOR, M[0]), "searchsorted": (np.sort(VECTOR), M),
    "digitize": (M, np.sort(VECTOR)), "isin": (INTS, INTS[0]), "in1d": (INTS, INTS[0]),
    "array_equal": (M, M), "append": (M, VECTOR), "polyadd": (VECTOR, M[0]),
    "polysub": (M[0], VECTOR),
    "polymul": (VECTOR, M[0]), "polyval": (VECTOR, M), "take": (VECTOR, INTS % 5),
}  # fmt: skip

CALLS: list[tuple[str, Callable[[Any, Any], Any], tuple[Any, ...]]] = [
    *[(name, lambda f, x: f(x), (value,)) for name, value in UNARY.items()],
    *[(name, lambda f, x, y: f(x, y), pair) for name, pair in BINARY.items()],
    ("clip", lambda f, x: f(x, -0.5, 0.5), (M,)),
    ("clip", lambda f, x, y: f(x, None, y), (M, P)),
    ("around", lambda f, x: f(x, 1), (M,)),
    *[(name, lambda f, x: f(x, 1), (CUBE,)) for name in (
        "sum", "prod", "mean", "amax", "amin", "var", "std", "ptp", "argmax", "argmin", "median",
        "cumsum", "average", "any", "all", "count_nonzero", "argsort", "sort", "flip",
    )],
    *[(name, lambda f, x: f(x, (0, 2)), (CUBE,)) for name in ("sum", "mean", "amax", "var")],
    ("sum", lambda f, x: f(x, axis=-1, keepdims=True), (CUBE,)),
    ("std", lambda f, x: f(x, axis=1, ddof=1), (CUBE,)),
    ("nanmax", lambda f, x: f(x, axis=0), (HOLES,)),
    ("nanvar", lambda f, x: f(x, axis=0, ddof=1), (np.where(M > 1.5, np.nan, M),)),
    ("average", lambda f, x, w: f(x, 1, w), (M, P[0])),
    ("average", lambda f, x, w: f(x, None, w), (M, P)),
    ("quantile", lambda f, x: f(x, 0.3, 1), (M,)),
    ("cov", lambda f, x: f(x, rowvar=False, bias=True), (M,)),
    ("corrcoef", lambda f, x: f(x, rowvar=False), (M,)),
    ("diff", lambda f, x: f(x, 2, 1), (CUBE,)),
    ("ediff1d", lambda f, x: f(x, to_end=[1.0], to_begin=[2.0, 3.0]), (VECTOR,)),
    ("trapz", lambda f, y, x: f(y, x), (M, np.sort(P[0]))),
    ("trapz", lambda f, y: f(y, dx=0.5, axis=0), (M,)),
    ("reshape", lambda f, x: f(x, (2, -1)), (M,)),
    ("swapaxes", lambda f, x: f(x, 0, 2), (CUBE,)),
    ("moveaxis", lambda f, x: f(x, (0, 1), (2, 0)), (CUBE,)),
    ("rollaxis", lambda f, x: f(x, 2), (CUBE,)), ("rollaxis", lambda f, x: f(x, 0, 3), (CUBE,)),
    ("expand_dims", lambda f, x: f(x, (0, 3)), (CUBE,)),
    ("squeeze", lambda f, x: f(x, 0), (M[None, :, None],)),
    ("transpose", lambda f, x: f(x, (1, 2, 0)), (CUBE,)),
    ("broadcast_to", lambda f, x: f(x, (2, 3, 4)), (M,)),
    ("broadcast_arrays", lambda f, x, y: f(x, y), (M, CUBE)),
    ("atleast_2d", lambda f, x, y: f(x, y), (VECTOR, 1.0)),
    ("flip", lambda f, x: f(x, (0, 2)), (CUBE,)), ("rot90", lambda f, x: f(x, 3), (M,)),
    ("roll", lambda f, x: f(x, 2), (M,)), ("roll", lambda f, x: f(x, (1, -1), (0, 1)), (M,)),
    ("repeat", lambda f, x: f(x, 2), (M,)), ("repeat", lambda f, x: f(x, [1, 0, 2], 0), (M,)),
    ("tile", lambda f, x: f(x, 2), (M,)), ("tile", lambda f, x: f(x, (2, 1, 3)), (M,)),
    ("resize", lambda f, x: f(x, (5, 3)), (M,)), ("resize", lambda f, x: f(x, 4), (M,)),
    ("diag", lambda f, x: f(x, -1), (VECTOR,)), ("diagflat", lambda f, x: f(x, 2), (VECTOR,)),
    ("diagonal", lambda f, x: f(x, 1, 2, 0), (CUBE,)), ("tril", lambda f, x: f(x, 1), (M,)),
    ("triu", lambda f, x: f(x, -1), (M,)), ("trace", lambda f, x: f(x, 1, 0, 2), (CUBE,)),
    ("concatenate", lambda f, x, y: f([x, y], 1), (M, M * 2)),
    ("concatenate", lambda f, x, y: f((x, y), None), (M, VECTOR)),
    ("concatenate", lambda f, x, y: f((x, y)), (INTS, INTS * 0.5)),
    ("append", lambda f, x, y: f(x, y, 0), (M, M[:1])),
    ("stack", lambda f, x, y: f([x, y], -1), (M, M * 2)),
    *[(name, lambda f, x, y: f((x, y)), (M, M * 2)) for name in (
        "vstack", "hstack", "dstack", "column_stack")],
    *[(name, lambda f, x, y: f((x, y)), (VECTOR, VECTOR * 2)) for name in (
        "vstack", "hstack", "dstack", "column_stack")],
    ("array_split", lambda f, x: f(x, 3, 1), (M,)), ("split", lambda f, x: f(x, 2, 1), (M,)),
    ("split", lambda f, x: f(x, [1, 3], 1), (M,)), ("vsplit", lambda f, x: f(x, 3), (M,)),
    ("hsplit", lambda f, x: f(x, 2), (M,)), ("dsplit", lambda f, x: f(x, [1]), (CUBE,)),
    ("meshgrid", lambda f, x, y: f(x, y), (VECTOR, M[0])),
    ("meshgrid", lambda f, x, y: f(x, y, sparse=True, indexing="ij"), (VECTOR, M[0])),
    ("vander", lambda f, x: f(x, 3, increasing=True), (VECTOR,)),
    ("tensordot", lambda f, x, y: f(x, y, ((1,), (2,))), (M, CUBE)),
    ("tensordot", lambda f, x, y: f(x, y), (CUBE, M)),
    ("dot", lambda f, x, y: f(x, y), (CUBE, VECTOR[:4])), ("dot", lambda f, x, y: f(x, y), (M,
    CUBE[0].T)),
    ("dot", lambda f, x, y: f(x, y), (CUBE, CUBE.swapaxes(1, 2))),
    ("dot", lambda f, x: f(x, 2.0), (M,)),
    ("inner", lambda f, x, y: f(x, y), (CUBE, M)), ("cross", lambda f, x, y: f(x, y), (M[:, :3],
    M[:, 1:])),
    ("cross", lambda f, x, y: f(x, y, axis=0), (M, P)),
    *[(name, lambda f, x, y, m=mode: f(x, y, m), (VECTOR, M[0, :3]))
      for name in ("convolve", "correlate") for mode in ("full", "same", "valid")],
    ("correlate", lambda f, x, y: f(x, y, "same"), (M[0], VECTOR)),
    ("where", lambda f, c, x, y: f(c, x, y), (M > 0, M, 1.0)),
    ("select", lambda f, x: f([x > 1, x > 0], [x, x * 2], 7.0), (M,)),
    ("choose", lambda f, i, x, y: f(i, [x, y]), (TRUTH.astype(int), INTS, -INTS)),
    ("take", lambda f, x: f(x, [0, -1], 1), (M,)),
    ("take_along_axis", lambda f, x, i: f(x, i, 1), (M, np.argsort(M, 1))),
    ("searchsorted", lambda f, x: f(x, 1.5, "right"), (np.sort(VECTOR),)),
    ("digitize", lambda f, x, b: f(x, b, right=True), (INTS, np.array([1.0, 4, 5]))),
    ("isin", lambda f, x: f(x, [1, 9], invert=True), (INTS,)),
    ("array_equal", lambda f, x, y: f(x, y), (M, P)), ("array_equal", lambda f, x, y: f(x, y), (M,
    VECTOR)),
    ("array_equal", lambda f, x: f(x, x, equal_nan=True), (HOLES,)),
    ("sort", lambda f, x: f(x, None), (M,)), ("unravel_index", lambda f, i: f(i, (5, 2, 3)),
    (INTS,)),
    ("bincount", lambda f, x, w: f(x, w, 12), (INTS[1], P[0, :3])),
    ("histogram", lambda f, x: f(x, 4), (M,)), ("histogram", lambda f, x: f(x, [-1.0, 0, 0.5, 2]),
    (M,)),
    ("histogram", lambda f, x: f(x, 3, (-1.0, 1.0)), (M,)),
    ("polyder", lambda f, p: f(p, 2), (VECTOR,)), ("polyint", lambda f, p: f(p, 1, k=2.0),
    (VECTOR,)),
    ("interp", lambda f, x, xp, fp: f(x, xp, fp), (M * 3, np.sort(VECTOR), VECTOR)),
    ("interp", lambda f, x, xp: f(x, xp, xp, left=-99.0, right=99.0), (M * 9, np.sort(VECTOR))),
    ("unwrap", lambda f, x: f(x, axis=0), (M * 4,)),
    ("apply_over_axes", lambda f, x: f(lambda t, axis: t.sum(axis), x, [0, 2]), (CUBE,)),
    ("apply_along_axis", lambda f, x: f(lambda row: row * row[0], 1, x), (CUBE,)),
    ("apply_along_axis", lambda f, x: f(lambda row: row.sum(), 0, x), (CUBE,)),
    ("full", lambda f, x: f((3, 4), x), (M[0],)), ("full_like", lambda f, x: f(x, 2.5), (M,)),
    ("zeros_like", lambda f, x: f(x, int, shape=(2,)), (M,)),
    ("size", lambda f, x: f(x, 1), (CUBE,)),
    ("array", lambda f, x: f(x, ndmin=3), (VECTOR,)), ("nonzero", lambda f, x: f(x), (INTS - 1,)),
    ("linalg.norm", lambda f, x: f(x), (CUBE,)), ("linalg.norm", lambda f, x: f(x, axis=1),
    (CUBE,)),
    *[("linalg.norm", lambda f, x, o=o: f(x, o), (VECTOR,)) for o in (0, 1, 2, 3, np.inf, -np.inf)],
    *[("linalg.norm", lambda f, x, o=o: f(x, o), (M,)) for o in (1, -1, np.inf, -np.inf, "fro")],
    ("linalg.norm", lambda f, x: f(x, 1, (0, 2), keepdims=True), (CUBE,)),
    ("linalg.inv", lambda f, x: f(x), (M[:, :3],)), ("linalg.det", lambda f, x: f(x), (M[:, :3],)),
    ("linalg.solve", lambda f, a, b: f(a, b), (M[:, :3], M)),
    ("linalg.multi_dot", lambda f, x, y: f([x, y, x]), (M, M.T)),
]  # fmt: skip
MADE: list[tuple[str, tuple[Any, ...]]] = [
    ("zeros", ((2, 3),)), ("ones", (3,)), ("full", ((2,), 1.5)), ("arange", (5,)),
    ("arange", (1, 8, 3)),
    ("arange", (0.0, 1.0, 0.25)), ("linspace", (0, 1, 7)), ("linspace", (0, 1, 4, False)),
    ("logspace", (0, 2, 5)), ("geomspace", (1, 1000, 4)), ("eye", (3, 4, 1)), ("identity", (3,)),
    ("tri", (3, 4, -1)), ("indices", ((2, 3),)), ("bartlett", (7,)), ("blackman", (7,)),
    ("hamming", (7,)), ("hanning", (7,)), ("empty", ((2, 2),)), ("isscalar", (3,)),
]  # fmt: skip
OTHERS = {"trapz": np.trapezoid, "in1d": lambda a, b: np.isin(np.ravel(a), b)}
"""NumPy's functions where it has them by another name."""
UNDERIVED = {
    "argsort",
    "argmax",
    "argmin",
    "count_nonzero",
    "any",
    "all",
    "zeros_like",
    "full_like",
}


def numpys(name: str) -> Any:
    if name in OTHERS:
        return OTHERS[name]
    found: Any = np
    for part in name.split("."):
        found = getattr(found, part)
    return found


def ours(name: str) -> Any:
    found: Any = cnp
    for part in name.split("."):
        found = getattr(found, part)
    return found


def parts(value: Any) -> list[NDArray[Any]]:
    if isinstance(value, tuple | list) and not (value and isinstance(value[0], int)):
        return [array for part in value for array in parts(part)]
    return [value.asnumpy() if isinstance(value, cw.Tensor) else np.asarray(value)]


def compare(found: Any, wanted: Any) -> None:
    mine, other = parts(found), parts(wanted)
    assert len(mine) == len(other)
    for a, b in zip(mine, other, strict=True):
        assert a.shape == b.shape
        assert a.dtype.kind == b.dtype.kind or {a.dtype.kind, b.dtype.kind} <= set("iu")
        np.testing.assert_allclose(a, b, rtol=1e-5, atol=1e-6)


IDS = [f"{name}-{number}" for number, (name, _, _) in enumerate(CALLS)]


@pytest.mark.parametrize(("name", "call", "arrays"), CALLS, ids=IDS)
def test_values_are_numpys(name: str, call: Any, arrays: tuple[Any, ...]) -> None:
    tensors = [cw.Tensor(array) for array in arrays]
    with np.errstate(all="ignore"):
        compare(call(ours(name), *tensors), call(numpys(name), *arrays))
        compare(call(ours(name), *arrays), call(numpys(name), *arrays))


@pytest.mark.parametrize(
    ("name", "arguments"), MADE, ids=[f"{n}-{i}" for i, (n, _) in enumerate(MADE)]
)
def test_made_tensors_are_numpys(name: str, arguments: tuple[Any, ...]) -> None:
    wanted = numpys(name)(*arguments)
    found = ours(name)(*arguments)
    if name == "empty":
        wanted = np.zeros_like(wanted)
    if isinstance(found, cw.Tensor):
        np.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-5, atol=1e-6)
        assert found.dtype in (cw.float32, cw.int32, cw.int64)
    else:
        assert found == wanted


DERIVED = [
    (name, call, arrays)
    for name, call, arrays in CALLS
    if name not in UNDERIVED and all(np.asarray(a).dtype.kind == "f" for a in arrays)
]


@pytest.mark.parametrize(("name", "call", "arrays"), DERIVED[::3], ids=[d[0] for d in DERIVED[::3]])
def test_gradients_are_those_of_finite_differences(name: str, call: Any, arrays: Any) -> None:
    def loss(*tensors: cw.Tensor) -> cw.Tensor:
        total = cw.Tensor(0.0, cw.float64)
        for number, part in enumerate(_leaves(call(ours(name), *tensors))):
            if part.dtype.is_float:
                total = total + (part * part * (number + 1)).sum()
        return total

    tensors = [cw.Tensor(np.asarray(array, np.float64)) for array in arrays]
    if any(np.isnan(array).any() for array in arrays):
        return
    gradient = cw.grad(loss)(*tensors).asnumpy()
    at = tuple(size // 2 for size in gradient.shape)
    sides = []
    for step in (1e-6, -1e-6):
        moved = np.array(arrays[0], np.float64)
        moved[at] += step
        sides.append(float(loss(cw.Tensor(moved), *tensors[1:])))
    np.testing.assert_allclose(gradient[at], (sides[0] - sides[1]) / 2e-6, rtol=1e-4, atol=1e-5)


def _leaves(value: Any) -> list[cw.Tensor]:
    if isinstance(value, tuple | list):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value] if isinstance(value, cw.Tensor) else []


def test_static_graphs_take_the_functions() -> None:
    def several(x: cw.Tensor, y: cw.Tensor) -> tuple[cw.Tensor, ...]:
        return (
            cnp.dot(x, cnp.transpose(y)), cnp.where(x > 0, x, cnp.sin(y)), cnp.std(x, 0),
            cnp.hstack([x, cnp.flip(y, 1)]), cnp.tril(x), cnp.linalg.norm(y, axis=1),
        )  # fmt: skip

    x, y = cw.Tensor(M.astype(np.float32)), cw.Tensor(P.astype(np.float32))
    for found, wanted in zip(cw.jit(several, fullgraph=True)(x, y), several(x, y), strict=True):
        np.testing.assert_allclose(found.asnumpy(), wanted.asnumpy(), rtol=1e-5, atol=1e-6)


def test_row_57_random_numbers_come_from_the_seed() -> None:
    cw.set_seed(5)
    first = [cnp.randn(2, 3).tolist(), cnp.rand((4,)).tolist(), cnp.randint(3, 9, (50,)).tolist()]
    cw.set_seed(5)
    again = [cnp.randn(2, 3).tolist(), cnp.rand((4,)).tolist(), cnp.randint(3, 9, (50,)).tolist()]
    assert first == again
    assert set(first[2]) == {3, 4, 5, 6, 7, 8}
    assert cnp.randint(4, shape=5).dtype is cw.int32
    with pytest.raises(ValueError, match="no whole number"):
        cnp.randint(3, 3)


def test_dtypes_and_constants_are_there() -> None:
    assert cnp.float32 is cw.float32
    assert (cnp.pi, cnp.newaxis) == (np.pi, None)
    assert cnp.result_type(cw.Tensor([1]), 2.0) is cw.float32
    assert cnp.promote_types(cw.int8, cw.float16) is cw.float16
    assert cnp.add([1], [2], dtype=cw.float16).dtype is cw.float16
    assert cnp.asfarray([1, 2]).dtype is cw.float32
    assert cnp.piecewise(cw.Tensor([-1.0, 2.0]), [[True, False]], [5.0, lambda x: x]).tolist() == [
        5,
        2,
    ]


@pytest.mark.parametrize(
    "call",
    [
        lambda x: cnp.rollaxis(x, 2),
        lambda x: cnp.rollaxis(x, 0, 3),
        lambda x: cnp.expand_dims(x, 3),
        lambda x: cnp.apply_along_axis(cnp.sort, 2, x),
        lambda x: cnp.apply_over_axes(lambda t, axis: cnp.sum(t), x, 2),
        lambda x: cnp.linalg.norm(x, axis=2),
        lambda x: cnp.average(x, 2, [1.0, 2.0, 3.0]),
        lambda x: cnp.split(x, 1, 2),
        lambda x: cnp.size(x, 2),
    ],
)
def test_axes_that_are_not_there_are_refused(call: Any) -> None:
    with pytest.raises(ValueError, match="does not exist in"):
        call(cw.Tensor(M[:, :3]))


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: cnp.split(cw.Tensor([1, 2, 3]), 2), "use array_split"),
        (lambda: cnp.meshgrid([1], indexing="yx"), '"xy" or "ij"'),
        (lambda: cnp.convolve([1.0], [1.0], "half"), "mode must be"),
        (lambda: cnp.cross([1.0, 2.0], [1.0, 2.0]), "three numbers"),
        (lambda: cnp.where([True], 1), "both x and y"),
        (lambda: cnp.linalg.norm(cw.Tensor(CUBE), 1), "name the axis"),
        (lambda: cnp.linalg.norm(cw.Tensor(M), 3), "no norm 3 of matrices"),
        (lambda: cnp.linalg.norm(cw.Tensor(VECTOR), "nuc"), "no norm 'nuc' of vectors"),
    ],
)  # fmt: skip
def test_mistakes_are_explained(call: Any, words: str) -> None:
    with pytest.raises(ValueError, match=words):
        call()


def test_every_function_says_what_goes_in_and_comes_out() -> None:
    functions = [name for name in cnp.__all__ if inspect.isfunction(getattr(cnp, name))]
    assert len(functions) >= 200
    for name in functions:
        doc = inspect.getdoc(getattr(cnp, name)) or ""
        assert "Returns\n-------" in doc, name
        for parameter in inspect.signature(getattr(cnp, name)).parameters:
            assert parameter in doc.partition("Parameters")[2], (name, parameter)


def test_every_function_is_compared() -> None:
    compared = {name for name, _, _ in CALLS} | {name for name, _ in MADE}
    elsewhere = {
        "rand", "randn", "randint", "result_type", "promote_types", "asfarray", "piecewise",
        "empty_like", "sometrue", "multi_dot",
    }  # fmt: skip
    functions = {name for name in cnp.__all__ if inspect.isfunction(getattr(cnp, name))}
    assert functions - compared == elsewhere
