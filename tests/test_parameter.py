"""Parameters: attributes that scripts touch, clones, and writes in eager mode and static graphs."""

from __future__ import annotations

from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import ops
from cellwire.engine.compiler.jitted import JitError, JitWarning


def parameter(*values: float, **more: Any) -> cw.Parameter:
    return cw.Parameter(cw.Tensor(list(values), cw.float32), **more)


# ---- attributes ------------------------------------------------------------------------------


def test_attributes_that_scripts_touch() -> None:
    p = parameter(1, 2, name="w", layerwise_parallel=True)
    assert (p.name, p.requires_grad, p.layerwise_parallel, p.parallel_optimizer) == (
        "w", True, True, True,
    )  # fmt: skip
    p.name, p.requires_grad, p.comm_fusion, p.parallel_optimizer = "v", False, 3, False
    twin = p.clone()
    assert (twin.name, twin.requires_grad, twin.comm_fusion, twin.parallel_optimizer) == (
        "v", False, 3, False,
    )  # fmt: skip
    p.name = None
    assert p.name == "Parameter"
    assert p.inited_param is p.init_data() is p
    with pytest.raises(TypeError, match="name is a string"):
        p.name = 3


def test_initial_data_is_made_on_demand() -> None:
    p = cw.Parameter(cw.initializer.initializer("ones", (2,), cw.float32), "w")
    assert not p.is_made
    assert p.init_data().is_made


def test_value_is_a_tensor_of_its_own() -> None:
    p = parameter(1, 2)
    value = p.value()
    p.set_data(cw.Tensor([5.0, 6.0]))
    assert type(value) is cw.Tensor
    assert value.tolist() == [1, 2]
    weighed = cw.value_and_grad(lambda x: (p.value() * x).sum(), None, p)
    assert weighed(cw.Tensor([3.0, 4.0]))[1].tolist() == [3, 4]


def test_set_dtype_converts_in_a_new_buffer() -> None:
    p = parameter(1.5, 2)
    assert p.set_dtype(cw.int32) is p
    assert p.dtype is cw.int32
    assert p.tolist() == [1, 2]
    assert p.assign_value([7, 8]).tolist() == [7, 8]
    assert p.set_dtype(cw.bfloat16).dtype is cw.bfloat16


def test_clones_take_new_initial_data() -> None:
    p = parameter(1, 2, name="w")
    assert p.clone().tolist() == [1, 2]
    assert p.clone("zeros").tolist() == [0, 0]
    assert p.clone(3).tolist() == [3, 3]
    assert p.clone().data is not p.data
    pair = cw.ParameterTuple([p, parameter(3, name="b")])
    moments = pair.clone("moments", init="zeros")
    assert isinstance(moments, cw.ParameterTuple)
    assert [m.name for m in moments] == ["moments.w", "moments.b"]
    assert [m.tolist() for m in moments] == [[0, 0], [0]]
    assert pair[0].name == "w"
    with pytest.raises(TypeError, match="prefix"):
        pair.clone(1)  # pyright: ignore[reportArgumentType]


# ---- writes ----------------------------------------------------------------------------------


@pytest.mark.parametrize("compiled", [False, True])
def test_assignments_are_effects_in_their_order(compiled: bool) -> None:
    p = parameter(1, 2)

    def steps(x: cw.Tensor) -> tuple[cw.Tensor, cw.Tensor]:
        first = p * 1
        ops.assign(p, x)
        ops.assign_add(p, 1.0)
        between = p * 10
        ops.AssignSub()(p, x * 3)
        ops.AssignAdd()(p, ops.Assign()(p, p * 2))
        return first, between

    run = cw.jit(steps, fullgraph=True) if compiled else steps
    for before in ([1, 2], [-16, -20]):
        first, between = run(cw.Tensor([4.5, 5.5]))
        assert first.tolist() == before
        assert between.tolist() == [55, 65]
        assert p.tolist() == [-32, -40]
        p.set_data(p / 2)


def test_assignments_return_the_parameter_and_check() -> None:
    p = parameter(1, 2)
    assert ops.assign(p, 3 * cw.Tensor([1, 1])) is p
    assert p.tolist() == [3, 3]
    with pytest.raises(ValueError, match="shape"):
        ops.assign(p, cw.Tensor([1.0, 2, 3]))
    with pytest.raises(TypeError, match="must be a Parameter"):
        ops.assign_add(cw.Tensor([1.0]), 1)
    assert repr(ops.AssignAdd()) == "AssignAdd()"


def test_gradients_do_not_flow_through_assignments() -> None:
    p = parameter(1, 2, requires_grad=False)

    def loss(x: cw.Tensor) -> cw.Tensor:
        ops.assign(p, x * 2)
        return (p * x).sum()

    x = cw.Tensor([3.0, 4.0])
    assert cw.grad(loss)(x).tolist() == [6, 8]
    assert p.tolist() == [6, 8]


@pytest.mark.parametrize("compiled", [False, True])
@pytest.mark.parametrize("trained", [False, True])
def test_gradients_use_what_was_read_before_a_write(compiled: bool, trained: bool) -> None:
    p = parameter(1, 2, requires_grad=trained)

    def loss(x: cw.Tensor) -> cw.Tensor:
        read = (p * x).sum()
        ops.assign(p, p * 10)
        return read + (p * x).sum()

    run = cw.jit(cw.grad(loss), fullgraph=True) if compiled else cw.grad(loss)
    assert run(cw.Tensor([3.0, 4.0])).tolist() == [11, 22]
    assert p.tolist() == [10, 20]


@pytest.mark.parametrize("compiled", [False, True])
def test_gradients_of_overwritten_weights_are_refused(compiled: bool) -> None:
    p = parameter(1, 2)

    def loss(x: cw.Tensor) -> cw.Tensor:
        read = (p * x).sum()
        p.set_data(p * 10)
        return read

    run = cw.grad(loss, None, weights=[p])
    if compiled:
        with pytest.raises(JitError, match="after it was read"):
            cw.jit(run, fullgraph=True)(cw.Tensor([3.0, 4.0]))
    else:
        with pytest.raises(RuntimeError, match="written to afterwards"):
            run(cw.Tensor([3.0, 4.0]))


def test_complaint_12_set_data_is_the_same_in_graphs() -> None:
    results = []
    for compiled in (False, True):
        p = parameter(1, 2)

        def step(x: cw.Tensor, p: cw.Parameter = p) -> cw.Tensor:
            p.set_data(x * p)
            return p + 1

        run = cw.jit(step, fullgraph=True) if compiled else step
        found = [run(cw.Tensor([2.0, 3.0])).tolist() for _ in range(3)]
        results.append((found, p.tolist(), p.version))
        with pytest.raises(ValueError, match="shape"):
            run(cw.Tensor([[1.0, 2.0], [3.0, 4.0]]))
    assert results[0] == results[1]
    assert results[0][0] == [[3, 7], [5, 19], [9, 55]]


def test_views_of_overwritten_parameters_are_not_used_in_graphs() -> None:
    p = parameter(1, 2)

    def late(x: cw.Tensor) -> cw.Tensor:
        row = p[:1]
        ops.assign(p, x)
        return row + 0

    x = cw.Tensor([5.0, 6.0])
    with pytest.raises(JitError, match="a view is used after"):
        cw.jit(late, fullgraph=True)(x)
    with pytest.warns(JitWarning, match="runs eagerly"):
        assert cw.jit(late)(x).tolist() == [5]

    @cw.jit(fullgraph=True)
    def early(x: cw.Tensor) -> cw.Tensor:
        row = p[:1] * 2
        p[0] = x[1]
        p[1] += p[0]
        return row

    p.set_data([1.0, 2.0])
    assert early(x).tolist() == [2]
    assert p.tolist() == [6, 8]


def test_writes_into_parts_are_counted() -> None:
    p = parameter(1, 2)
    p[0] = 5
    p[1:] += 1
    assert p.tolist() == [5, 3]
    assert p.version == 2


def test_shapes_may_change_with_slice_shape() -> None:
    p = parameter(1, 2)
    p.set_data(np.zeros((3, 1)), slice_shape=True)
    assert p.shape == (3, 1)
