"""Samples of the ops that the first models need: values as NumPy says them in float64."""

from __future__ import annotations

from typing import Any

import numpy as np
from cellwire.engine import ops
from cellwire.engine.ops import avg_pool, conv, index, random, slicing
from cellwire.engine.ops.cross_entropy import cross_entropy_input_grad
from cellwire.engine.ops.layer_norm import layer_norm_input_grad
from cellwire.engine.ops.max_pool2d import max_pool2d_grad, pool_pick
from cellwire.engine.ops.softmax import softmax_grad
from scipy import special

from op_samples.sample import N, Sample, bools, distinct, integers, normal, positive, rng

X, Y, ROW = normal(N, 4), normal(N, 4, seed=1), normal(4, seed=2)
KEY = np.array([3, 1], np.int64)
LEFT_AND_RIGHT = (((0, N, 1), (0, 4, 1)), ((0, N, 1), (5, 9, 1)))
IMAGES = distinct(N, 2, 6, 6)


def _softmax(x: np.ndarray, axis: int = -1) -> np.ndarray:
    return special.softmax(x, axis)


def _cross_entropy(x: np.ndarray, labels: np.ndarray) -> np.ndarray:
    return -special.log_softmax(x, 1)[np.arange(len(x)), labels].mean()


def _layer_norm(x: np.ndarray, w: np.ndarray, b: np.ndarray) -> np.ndarray:
    centred = x - x.mean(-1, keepdims=True)
    return centred / np.sqrt(x.var(-1, keepdims=True) + 1e-5) * w + b


def _batch_norm(x: np.ndarray, m: Any, v: Any, w: np.ndarray, b: np.ndarray) -> tuple[Any, ...]:
    mean, var = x.mean(0), x.var(0)
    out = (x - mean) / np.sqrt(var + 1e-5) * w + b
    return out, m * 0.9 + mean * 0.1, v * 0.9 + x.var(0, ddof=1) * 0.1


def _binary(name: str, reference: Any, x: Any = X, y: Any = Y, **more: Any) -> list[Sample]:
    function = getattr(ops, name)
    return [
        Sample(name, function, (x, y), reference, **more),
        Sample(name, function, (x, y[0]), reference, **more),
        Sample(name, function, (x[:, :1], y[:1]), reference, **more),
    ]


def _unary(name: str, reference: Any, x: Any = X, **more: Any) -> Sample:
    return Sample(name, getattr(ops, name), (x,), reference, **more)


def _math_samples() -> list[Sample]:
    no = {"differentiable": False}
    p = positive(N, 4)
    return [
        *_binary("add", np.add), *_binary("sub", np.subtract), *_binary("mul", np.multiply),
        *_binary("div", np.divide), *_binary("maximum", np.maximum),
        *_binary("minimum", np.minimum), *_binary("pow", np.power, x=p),
        *_binary("floor_div", np.floor_divide, **no), *_binary("mod", np.mod, y=p * 2),
        Sample("floor_div", ops.floor_div, (integers(N), integers(N, low=1)), np.floor_divide,
               differentiable=False),
        _unary("neg", np.negative), _unary("abs", np.abs), _unary("sign", np.sign, **no),
        _unary("exp", np.exp), _unary("log", np.log, p), _unary("log1p", np.log1p, p),
        _unary("sqrt", np.sqrt, p), _unary("rsqrt", lambda x: 1 / np.sqrt(x), p),
        _unary("square", np.square), _unary("reciprocal", lambda x: 1 / x),
        _unary("sin", np.sin), _unary("cos", np.cos), _unary("tanh", np.tanh),
        _unary("sigmoid", special.expit), _unary("erf", special.erf),
        _unary("floor", np.floor, **no), _unary("ceil", np.ceil, **no),
        _unary("round", np.rint, **no), _unary("round", np.rint, integers(N), **no),
        Sample("clamp", lambda x: ops.clamp(x, -0.5, 0.7), (X,), lambda x: x.clip(-0.5, 0.7)),
        Sample("clamp", lambda x: ops.clamp(x, max=0.7), (X,), lambda x: x.clip(None, 0.7)),
        Sample("cast", lambda x: ops.cast(x, "float32"), (X,), differentiable=False),
        Sample("cast", lambda x: ops.cast(x, "int32"), (X * 9,), np.trunc, **no),
    ]  # fmt: skip


def _logic_samples() -> list[Sample]:
    no = {"differentiable": False}
    odd = np.array([np.nan, np.inf, -np.inf, 0.0, 1.0])
    a, b = integers(N, 4), integers(N, 4, seed=1)
    compared = {
        "equal": np.equal, "not_equal": np.not_equal, "less": np.less,
        "less_equal": np.less_equal, "greater": np.greater, "greater_equal": np.greater_equal,
    }  # fmt: skip
    return [
        *(s for name, ref in compared.items() for s in _binary(name, ref, a, b, **no)),
        *_binary("logical_and", np.logical_and, bools(N, 4), bools(N, 4, seed=1), **no),
        *_binary("logical_or", np.logical_or, bools(N, 4), bools(N, 4, seed=1), **no),
        _unary("logical_not", np.logical_not, bools(N, 4), **no),
        _unary("isnan", np.isnan, odd, **no), _unary("isinf", np.isinf, odd, **no),
        _unary("isfinite", np.isfinite, odd, **no),
        Sample("select", ops.select, (bools(N, 4), X, Y), np.where),
        Sample("select", ops.select, (bools(N, 1), X, ROW), np.where),
    ]  # fmt: skip


def _array_samples() -> list[Sample]:
    no = {"differentiable": False}
    cube = normal(N, 3, 4)
    return [
        _unary("identity", np.copy),
        Sample("stop_gradient", ops.stop_gradient, (X,), np.copy, **no),
        Sample("zeros_like", ops.zeros_like, (X,), np.zeros_like, **no),
        Sample("ones_like", ops.ones_like, (X,), np.ones_like, **no),
        Sample("full", lambda: ops.full((2, 3), 1.5), (), lambda: np.full((2, 3), 1.5), **no),
        Sample("arange", lambda: ops.arange(1, 9, 3), (), lambda: np.arange(1, 9, 3), **no),
        Sample("reshape", lambda x: ops.reshape(x, (-1, 6)), (cube,), lambda x: x.reshape(-1, 6)),
        Sample("transpose", lambda x: ops.transpose(x, (2, 0, 1)), (cube,),
               lambda x: x.transpose(2, 0, 1)),
        Sample("broadcast_to", lambda x: ops.broadcast_to(x, (2, 3, 4)), (normal(3, 1),),
               lambda x: np.broadcast_to(x, (2, 3, 4))),
        Sample("expand_dims", lambda x: ops.expand_dims(x, 1), (X,), lambda x: x[:, None]),
        Sample("squeeze", lambda x: ops.squeeze(x, 1), (X[:, None],), lambda x: x[:, 0]),
        Sample("concat", lambda *t: ops.concat(t, 1), (X, Y[:, :2]),
               lambda *t: np.concatenate(t, 1)),
        Sample("concat", lambda *t: ops.concat(t), (X, Y), lambda *t: np.concatenate(t)),
        Sample("stack", lambda *t: ops.stack(t, 1), (X, Y), lambda *t: np.stack(t, 1)),
        Sample("tile", lambda x: ops.tile(x, (2, 1, 3)), (X,), lambda x: np.tile(x, (2, 1, 3))),
        Sample("pad", lambda x: ops.pad(x, (1, 2), value=7.0), (X,),
               lambda x: np.pad(x, ((0, 0), (1, 2)), constant_values=7)),
        Sample("strided_slice", lambda x: slicing.strided_slice(x, (None, 1), (None, 3)), (X,),
               lambda x: x[:, 1:3]),
        Sample("strided_slice", lambda x: slicing.strided_slice(x, (None,), (None,), (1, 2)), (X,),
               lambda x: x[:, ::2]),
        Sample("unslice", lambda x: slicing.unslice(x, (N, 9), (None, 1), (None, 9), (1, 2)),
               (X,), symbolic=False),
        Sample("assemble", lambda x, y: slicing.assemble((x, y), (N, 9), LEFT_AND_RIGHT),
               (X, Y), lambda x, y: np.hstack((x, np.zeros((N, 1)), y)), symbolic=False),
        Sample("gather", ops.gather, (normal(7, 3), integers(N, 2, high=7)),
               lambda t, i: t[i.astype(int)]),
        Sample("gather", lambda x, i: ops.gather(x, i, 1), (cube, integers(2)),
               lambda x, i: x[:, i.astype(int)]),
        Sample("scatter_sum", lambda x, i: index.scatter_sum(x, i, 0, 6), (X, integers(N))),
        Sample("index", lambda x, i, j: x[i, j], (normal(4, 3, 2), integers(N), integers(N)),
               lambda x, i, j: x[i.astype(int), j.astype(int)]),
        Sample("index", lambda x, i: x[i, :, i], (normal(3, 2, 3), integers(N)),
               lambda x, i: x[i.astype(int), :, i.astype(int)]),
        Sample("index_sum", lambda d, i, j: index.index_sum(d, (i, j), (4, 3), (0, 1)),
               (normal(N), integers(N), integers(N))),
        Sample("one_hot", lambda i: ops.one_hot(i, 3), (integers(N),),
               lambda i: np.eye(3)[i.astype(int)], **no),
    ]  # fmt: skip


def _reduce_samples() -> list[Sample]:
    no = {"differentiable": False}
    cube = distinct(N, 3, 4)
    found: list[Sample] = []
    references = {
        "sum": np.sum, "mean": np.mean, "amax": np.max, "amin": np.min, "prod": np.prod,
        "var": np.var, "std": np.std,
    }  # fmt: skip
    for name, ref in references.items():
        function = getattr(ops, name)
        for axis, keepdims in ((None, False), (1, False), ((0, 2), True)):
            found.append(
                Sample(
                    name,
                    lambda x, f=function, a=axis, k=keepdims: f(x, a, keepdims=k),
                    (cube,),
                    lambda x, r=ref, a=axis, k=keepdims: r(x, axis=a, keepdims=k),
                )
            )
    zeros = np.array([[1.0, 2.0, 3.0], [0.0, 2.0, 3.0], [0.0, 0.0, 3.0]])
    return [
        *found,
        Sample("prod", lambda x: ops.prod(x, 1), (zeros,), lambda x: np.prod(x, 1)),
        Sample("var", lambda x: ops.var(x, 1, 1), (X,), lambda x: np.var(x, 1, ddof=1)),
        Sample("argmax", lambda x: ops.argmax(x, 1), (X,), lambda x: np.argmax(x, 1), **no),
        Sample("argmin", ops.argmin, (X,), np.argmin, **no),
    ]


def _linalg_samples() -> list[Sample]:
    w, b = normal(3, 4, seed=3), normal(3, seed=4)
    return [
        Sample("matmul", ops.matmul, (X, w.T), np.matmul),
        Sample("matmul", ops.matmul, (normal(N, 2, 4), w.T), np.matmul),
        Sample("matmul", ops.matmul, (normal(N, 2, 4), normal(N, 4, 3, seed=1)), np.matmul),
        Sample("matmul", ops.matmul, (normal(2, 1, 3, 4), normal(N, 4, 3)), np.matmul),
        Sample("matmul", ops.matmul, (ROW, w.T), np.matmul),
        Sample("matmul", ops.matmul, (X, ROW), np.matmul),
        Sample("matmul", ops.matmul, (ROW, ROW + 1), np.matmul),
        Sample("bmm", ops.bmm, (normal(N, 2, 4), normal(N, 4, 3)), np.matmul),
        Sample("dense", ops.dense, (X, w), lambda x, w: x @ w.T),
        Sample("dense", ops.dense, (X, w, b), lambda x, w, b: x @ w.T + b),
        Sample("dense", ops.dense, (normal(N, 2, 4), w, b), lambda x, w, b: x @ w.T + b),
        Sample("bias_add", ops.bias_add, (IMAGES, normal(2)),
               lambda x, b: x + b[:, None, None]),
    ]  # fmt: skip


def _activation_samples() -> list[Sample]:
    def elu(x: np.ndarray) -> np.ndarray:
        return np.where(x > 0, x, np.expm1(x))

    def gelu(x: np.ndarray) -> np.ndarray:
        return x * special.ndtr(x)

    def gelu_by_tanh(x: np.ndarray) -> np.ndarray:
        return x / 2 * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)))

    return [
        _unary("relu", lambda x: x.clip(0)), _unary("elu", elu),
        _unary("leaky_relu", lambda x: np.where(x > 0, x, 0.2 * x)),
        _unary("silu", lambda x: x * special.expit(x)),
        _unary("softplus", lambda x: np.logaddexp(x, 0)),
        _unary("hardtanh", lambda x: x.clip(-1, 1)), _unary("gelu", gelu),
        Sample("gelu", lambda x: ops.gelu(x, approximate="tanh"), (X,), gelu_by_tanh),
        _unary("softmax", _softmax), _unary("log_softmax", lambda x: special.log_softmax(x, -1)),
        Sample("softmax", lambda x: ops.softmax(x, 1), (normal(N, 3, 2),),
               lambda x: _softmax(x, 1)),
        Sample("softmax_grad", lambda d, y: softmax_grad(d, y, 1), (X, Y)),
    ]  # fmt: skip


def _image_samples() -> list[Sample]:
    w, b = normal(4, 2, 3, 3), normal(4)
    window = {"kernel": (2, 2), "stride": (2, 2), "padding": (0, 0, 0, 0), "dilation": (1, 1)}
    steps = {"stride": (1, 1), "padding": (0, 0, 0, 0), "dilation": (1, 1), "groups": 1}
    taps = integers(N, 2, 3, 3, high=4)
    depthwise = normal(2, 1, 3, 3)
    average = {
        "kernel": (2, 2),
        "stride": (2, 2),
        "padding": (0, 0, 0, 0),
        "count_padding": True,
        "spill": (0, 0),
        "divisor": 0,
    }
    return [
        Sample("conv2d", ops.conv2d, (IMAGES, w, b)),
        Sample("conv2d", lambda x, w: ops.conv2d(x, w, stride=2, pad_mode="same"), (IMAGES, w)),
        Sample("conv2d", lambda x, w: ops.conv2d(x, w, pad_mode="pad", padding=1, groups=2),
               (IMAGES, depthwise)),
        Sample("conv2d_input_grad",
               lambda d, w: conv.conv2d_input_grad(d, w, (6, 6), **steps),
               (normal(N, 4, 4, 4), w)),
        Sample("conv2d_weight_grad",
               lambda d, x: conv.conv2d_weight_grad(d, x, (3, 3), **steps),
               (normal(N, 4, 4, 4), IMAGES)),
        Sample("max_pool2d", lambda x: ops.max_pool2d(x, 3, 2), (IMAGES,)),
        Sample("max_pool2d_grad",
               lambda d, t: max_pool2d_grad(d, t, (6, 6), **window),
               (normal(N, 2, 3, 3), taps)),
        Sample("pool_pick", lambda x, t: pool_pick(x, t, **window), (IMAGES, taps)),
        Sample("avg_pool2d", lambda x: ops.avg_pool2d(x, 2, 2), (IMAGES,),
               lambda x: x.reshape(N, 2, 3, 2, 3, 2).mean((3, 5))),
        Sample("avg_pool2d_grad",
               lambda d: avg_pool.avg_pool2d_grad(d, (6, 6), **average), (normal(N, 2, 3, 3),)),
    ]  # fmt: skip


def _norm_samples() -> list[Sample]:
    w, b = normal(4, seed=5), normal(4, seed=6)
    mean, var = normal(4, seed=7), positive(4, seed=8)
    return [
        Sample("layer_norm", lambda x, w, b: ops.layer_norm(x, 4, w, b), (X, w, b), _layer_norm),
        Sample("layer_norm", lambda x: ops.layer_norm(x, (3, 4)), (normal(N, 3, 4),)),
        Sample("layer_norm_input_grad",
               lambda d, x, w: layer_norm_input_grad(d, x, w, 1, 1e-5), (Y, X, w)),
        Sample("batch_norm", lambda *t: ops.batch_norm(*t, training=True),
               (X, mean, var, w, b), _batch_norm),
        Sample("batch_norm", ops.batch_norm, (X, mean, var, w, b),
               lambda x, m, v, w, b: (x - m) / np.sqrt(v + 1e-5) * w + b),
        Sample("batch_norm", lambda *t: ops.batch_norm(*t, training=True),
               (IMAGES, normal(2), positive(2), normal(2), normal(2))),
    ]  # fmt: skip


def _loss_samples() -> list[Sample]:
    labels, weight = integers(N, high=4), positive(4)
    yes = rng().random((N, 4))
    smooth = {"label_smoothing": 0.1, "ignore_index": 1}
    attrs = {"reduction": "mean", "ignore_index": -100, "label_smoothing": 0.0}
    logs = special.log_softmax(X, 1)
    return [
        Sample("mse_loss", ops.mse_loss, (X, Y), lambda x, y: np.square(x - y).mean()),
        Sample("mse_loss", lambda x, y: ops.mse_loss(x, y, "none"), (X, ROW),
               lambda x, y: np.square(x - y)),
        Sample("l1_loss", ops.l1_loss, (X, Y), lambda x, y: np.abs(x - y).mean()),
        Sample("l1_loss", lambda x, y: ops.l1_loss(x, y, "sum"), (X, Y),
               lambda x, y: np.abs(x - y).sum()),
        Sample("binary_cross_entropy_with_logits", ops.binary_cross_entropy_with_logits, (X, yes),
               lambda x, y: (np.logaddexp(0, x) - x * y).mean()),
        Sample("binary_cross_entropy_with_logits",
               ops.binary_cross_entropy_with_logits,
               (X, yes, weight, weight + 1)),
        Sample("cross_entropy", ops.cross_entropy, (X, labels), _cross_entropy),
        Sample("cross_entropy", lambda x, y: ops.cross_entropy(x, y, reduction="none"),
               (X, labels)),
        Sample("cross_entropy", lambda x, y, w: ops.cross_entropy(x, y, w, **smooth),
               (X, labels, weight)),
        Sample("cross_entropy", ops.cross_entropy, (X, _softmax(Y)),
               lambda x, y: -(special.log_softmax(x, 1) * y).sum(1).mean()),
        Sample("cross_entropy", ops.cross_entropy, (normal(N, 4, 2), integers(N, 2, high=4))),
        Sample("cross_entropy_input_grad",
               lambda d, x, y: cross_entropy_input_grad(d, x, y, **attrs),
               (np.array(1.5), X, labels)),
        Sample("nll_loss", ops.nll_loss, (logs, labels),
               lambda x, y: -x[np.arange(N), y.astype(int)].mean()),
    ]  # fmt: skip


def _update_samples() -> list[Sample]:
    m, v, g, lr = normal(3, seed=1), positive(3, seed=2), normal(3, seed=3), np.array(0.1)
    w = normal(3)
    return [
        Sample("sgd_update",
               lambda *t: ops.sgd_update(*t, momentum=0.9, weight_decay=0.1, nesterov=True),
               (w, m, g, lr), differentiable=False),
        Sample("momentum_update", lambda *t: ops.momentum_update(*t, momentum=0.9),
               (w, m, g, lr), lambda w, m, g, lr: (w - lr * (0.9 * m + g), 0.9 * m + g),
               differentiable=False),
        Sample("adam_update", ops.adam_update, (w, m, v, g, lr, np.array(0.9), np.array(0.999)),
               differentiable=False),
    ]  # fmt: skip


def _random_samples() -> list[Sample]:
    return [
        Sample("masked_dropout", lambda x: random.masked_dropout(x, ops_key(), 0.4), (X,)),
        Sample("random_kept", lambda k: random.random_kept(k, (2, 3), 0.4), (KEY,),
               differentiable=False),
        Sample("uniform_by_key", lambda k: random.uniform_by_key(k, (2, 3)), (KEY,),
               differentiable=False),
        Sample("normal_by_key", lambda k: random.normal_by_key(k, (2, 3)), (KEY,),
               differentiable=False),
    ]  # fmt: skip


def ops_key() -> Any:
    from cellwire.engine.tensor import Tensor

    return Tensor(KEY)


SAMPLES = [
    *_math_samples(), *_logic_samples(), *_array_samples(), *_reduce_samples(),
    *_linalg_samples(), *_activation_samples(), *_image_samples(), *_norm_samples(),
    *_loss_samples(), *_update_samples(), *_random_samples(),
]  # fmt: skip
