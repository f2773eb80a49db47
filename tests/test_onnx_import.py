"""ONNX's own node cases, run by the imported model; what is lacking is listed here by name."""

from __future__ import annotations

import warnings
from collections import defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire.nodes.importers.onnx import OnnxError, import_onnx
from cellwire.nodes.importers.onnx.arrays import is_known
from onnx import ModelProto, TensorProto, helper
from onnx.backend.test.case.node import collect_testcases
from onnx.numpy_helper import to_array

LACKING = {
    "ImageDecoder": "images are decoded by the data set",
    "RegexFullMatch": "text",
    "StringConcat": "text",
    "StringNormalizer": "text",
    "StringSplit": "text",
    "TfIdfVectorizer": "text",
    "ai.onnx.ml.ArrayFeatureExtractor": "no neural network",
    "ai.onnx.ml.Binarizer": "no neural network",
    "ai.onnx.ml.LabelEncoder": "no neural network",
    "ai.onnx.ml.TreeEnsemble": "no neural network",
    "ai.onnx.preview.training.Adagrad": "optimizers are Cellwire's own",
    "ai.onnx.preview.training.Adam": "optimizers are Cellwire's own",
    "ai.onnx.preview.training.Momentum": "optimizers are Cellwire's own",
}
"""The operators of ONNX's cases that cannot be imported, and why."""

UNKNOWN_TYPES = {
    "FLOAT4E2M1", "FLOAT8E4M3FN", "FLOAT8E4M3FNUZ", "FLOAT8E5M2", "FLOAT8E5M2FNUZ", "FLOAT8E8M0",
    "INT2", "INT4", "STRING", "UINT2", "UINT4",
}  # fmt: skip
"""The element types that Cellwire does not have; cases with them are refused by name."""

RANDOM = ("Bernoulli", "RandomUniformLike", "Dropout")
"""Operators whose numbers are drawn: shape, type and range are compared."""

UNITS = {"float16": 2.0**-9, "bfloat16": 2.0**-6}
"""Two units in the last place of 16-bit types, in which results are rounded at each step."""


def _cases() -> dict[str, list[Any]]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # the cases overflow on purpose
        cases = collect_testcases(None)
    by_operator = defaultdict(list)
    for case in cases:
        by_operator[_operator(case)].append(case)
    return dict(by_operator)


def _operator(case: Any) -> str:
    node = case.model.graph.node[0]
    if "_expanded" in case.name:
        return "expanded"
    return f"{node.domain}.{node.op_type}" if node.domain else node.op_type


CASES = _cases()


def types_of(model: ModelProto) -> set[str]:
    """Return the names of the element types of a model's inputs, outputs and casts."""
    found: set[int] = set()
    for info in (*model.graph.input, *model.graph.output):
        kind = info.type
        while kind.WhichOneof("value") in ("sequence_type", "optional_type"):
            kind = getattr(kind, kind.WhichOneof("value")).elem_type
        found.add(kind.tensor_type.elem_type)
    for node in model.graph.node:
        found |= {a.i for a in node.attribute if a.name in ("to", "output_dtype")}
        found |= {a.t.data_type for a in node.attribute if a.name == "value"}
    return {TensorProto.DataType.Name(number) for number in found if not is_known(number)}


def given(value: Any) -> Any:
    """Return an input of a case as Tensors."""
    if isinstance(value, list):
        return [given(item) for item in value]
    if isinstance(value, TensorProto):
        value = to_array(value)
    return None if value is None else cw.from_numpy(np.asarray(value))


def compare(ours: Any, theirs: Any, rtol: float, atol: float, drawn: bool) -> None:
    if isinstance(theirs, list):
        assert len(ours) == len(theirs)
        for one, other in zip(ours, theirs, strict=True):
            compare(one, other, rtol, atol, drawn)
        return
    if theirs is None:
        assert ours is None
        return
    theirs = to_array(theirs) if isinstance(theirs, TensorProto) else np.asarray(theirs)
    found = ours.asnumpy()
    assert (found.shape, found.dtype) == (theirs.shape, theirs.dtype)
    if drawn:
        return
    if found.dtype.kind in "biu":
        np.testing.assert_array_equal(found, theirs)
        return
    rtol = max(rtol, UNITS.get(found.dtype.name, 0.0))
    wide = np.float64
    np.testing.assert_allclose(found.astype(wide), theirs.astype(wide), rtol=rtol, atol=atol)


def run(case: Any) -> None:
    cell = import_onnx(case.model)
    drawn = any(node.op_type in RANDOM for node in case.model.graph.node) and not (
        "default_ratio" in case.name or "zero_ratio" in case.name or case.name == "dropout_default"
    )
    for inputs, outputs in case.data_sets:
        found = cell(*[given(value) for value in inputs])
        found = list(found) if isinstance(found, tuple) else [found]
        for ours, theirs in zip(found, outputs, strict=False):
            compare(ours, theirs, max(case.rtol, 1e-4), max(case.atol, 1e-6), drawn)


@pytest.mark.parametrize("operator", sorted(CASES))
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_cases_of(operator: str) -> None:
    for case in CASES[operator]:
        if operator in LACKING or types_of(case.model):
            continue
        try:
            run(case)
        except OnnxError as error:
            if operator != "expanded" or "does not have" not in str(error):
                raise AssertionError(f"{case.name}: {error}") from error
        except Exception as error:
            raise AssertionError(f"{case.name}: {error}") from error


def test_what_is_lacking_is_listed(record_property: Callable[[str, str], None]) -> None:
    everything = [case for cases in CASES.values() for case in cases]
    lacking, unknown, passed = set(), set(), 0
    for case in everything:
        names = types_of(case.model)
        unknown |= names
        try:
            import_onnx(case.model)
            passed += not names
        except OnnxError as error:
            message = str(error)
            if "does not have" in message:
                lacking |= set(message.rpartition(": ")[2].rstrip(".").split(", "))
            elif not names:
                raise
    assert lacking == set(LACKING)
    assert unknown == UNKNOWN_TYPES
    record_property("count", f"{passed} of {len(everything)} ONNX node cases are imported and pass")
    assert passed >= 1650


def _model(nodes: list[Any], **more: Any) -> ModelProto:
    infos = [helper.make_tensor_value_info(n, TensorProto.FLOAT, ["N", 3]) for n in ("x", "y")]
    graph = helper.make_graph(nodes, "g", infos[:1], infos[1:], **more)
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", 21)])


def test_weights_are_parameters_and_train() -> None:
    weight = helper.make_tensor("fc.weight", TensorProto.FLOAT, [3, 3], np.eye(3).reshape(-1))
    cell = import_onnx(_model([helper.make_node("MatMul", ["x", "fc.weight"], ["y"])],
                              initializer=[weight]))  # fmt: skip
    assert [p.name for p in cell.trainable_params()] == ["fc_weight"]
    x = cw.Tensor(np.ones((2, 3), np.float32))
    (grad,) = cw.grad(lambda x: cell(x).sum(), None, cell.trainable_params())(x)
    np.testing.assert_array_equal(grad.asnumpy(), np.full((3, 3), 2.0))


def test_models_compile_whole() -> None:
    shape = helper.make_tensor("shape", TensorProto.INT64, [2], [-1, 3])
    nodes = [
        helper.make_node("Relu", ["x"], ["a"]),
        helper.make_node("Reshape", ["a", "shape"], ["y"]),
    ]
    cell = import_onnx(_model(nodes, initializer=[shape]))
    x = cw.Tensor(np.array([[1.0, -1.0, 2.0]], np.float32))
    found = cw.jit(cell, fullgraph=True)(x)
    np.testing.assert_array_equal(found.asnumpy(), [[1.0, 0.0, 2.0]])


def test_unknown_operators_are_all_named() -> None:
    nodes = [
        helper.make_node("Alpha", ["x"], ["a"], domain="mine"),
        helper.make_node("Beta", ["a"], ["y"], domain="mine"),
    ]
    model = _model(nodes)
    model.opset_import.append(helper.make_opsetid("mine", 1))
    with pytest.raises(OnnxError, match=r"mine\.Alpha, mine\.Beta"):
        import_onnx(model)


def test_what_is_no_model_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "notes.onnx"
    path.write_bytes(b"these are only words")
    with pytest.raises(OnnxError, match=r"notes\.onnx is no ONNX model"):
        import_onnx(path)
    with pytest.raises(FileNotFoundError):
        import_onnx(tmp_path / "missing.onnx")


def _with_outer_weight(path: Path, length: int) -> None:
    """Save a model whose weight, 0 to 11, lies in a file beside it."""
    weight = TensorProto(
        name="w", data_type=TensorProto.FLOAT, dims=[3, 4], data_location=TensorProto.EXTERNAL
    )
    for key, value in (("location", "w.bin"), ("offset", "0"), ("length", str(length))):
        weight.external_data.add(key=key, value=value)
    graph = helper.make_graph(
        [helper.make_node("MatMul", ["x", "w"], ["y"])],
        "outer",
        [helper.make_tensor_value_info("x", TensorProto.FLOAT, [2, 3])],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [2, 4])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)])
    path.write_bytes(model.SerializeToString())
    (path.parent / "w.bin").write_bytes(np.arange(12, dtype=np.float32).tobytes())


def test_external_data_lie_beside_the_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    _with_outer_weight(tmp_path / "model.onnx", 48)
    model = import_onnx(tmp_path / "model.onnx")
    assert model(cw.ops.ones((1, 3))).asnumpy().tolist() == [[12, 15, 18, 21]]
    with pytest.raises(OnnxError, match="needs the inputs x"):
        model()
    _with_outer_weight(tmp_path / "model.onnx", 64)
    with pytest.raises(OnnxError, match="'w' in another file are damaged"):
        import_onnx(tmp_path / "model.onnx")
