"""Files of records: written, read, damaged."""

from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds
from cellwire.mindrecord import Cifar10ToMR, Cifar100ToMR, FileReader, FileWriter

SCHEMA = {
    "name": {"type": "string"},
    "label": {"type": "int32"},
    "points": {"type": "float32", "shape": [-1, 2]},
    "data": {"type": "bytes"},
}


def row(number: int) -> dict[str, Any]:
    points = np.full((number + 1, 2), number, np.float32)
    return {"name": f"r{number}", "label": number, "points": points, "data": b"\0x\0"}


def written(path: Path, count: int = 5, shards: int = 1) -> Path:
    writer = FileWriter(str(path), shards, overwrite=True)
    assert writer.add_schema(SCHEMA, "rows") == 0
    writer.add_index(["label"])
    writer.write_raw_data([row(number) for number in range(3)])
    writer.write_raw_data([row(number) for number in range(3, count)])
    writer.commit()
    return path


def labels(dataset: ds.Dataset) -> list[int]:
    found = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [int(r["label"]) for r in found]


def test_rows_come_back_as_they_were(tmp_path: Path) -> None:
    path = written(tmp_path / "a.mindrecord")
    assert [p.name for p in tmp_path.iterdir()] == ["a.mindrecord"]
    reader = FileReader(path)
    assert (reader.len(), reader.schema()) == (5, SCHEMA)
    rows = list(reader.get_next())
    reader.close()
    for number, found in enumerate(rows):
        assert str(found["name"]) == f"r{number}"
        assert (found["label"].dtype, int(found["label"])) == (np.int32, number)
        np.testing.assert_array_equal(found["points"], row(number)["points"])
        assert found["data"].tolist() == [0, 120, 0]
    assert list(next(FileReader(str(path), columns=["label"]).get_next())) == ["label"]


@pytest.mark.parametrize("shards", [1, 3, 11])
def test_a_set_of_files_is_read_in_the_order_of_writing(tmp_path: Path, shards: int) -> None:
    path = written(tmp_path / "set", 7, shards)
    files = sorted(p.name for p in tmp_path.iterdir())
    assert len(files) == shards
    data = ds.MindDataset(str(path), ["label", "name"], shuffle=False)
    assert data.get_col_names() == ["label", "name"]
    assert labels(data) == list(range(7))
    assert len(data) == 7
    if shards == 3:
        one = ds.MindDataset([tmp_path / "set1"], shuffle=False)  # a list means exactly these
        assert labels(one) == [1, 4]
        whole = ds.MindDataset(tmp_path / "set1", shuffle=False, num_parallel_workers=2)
        assert labels(whole) == list(range(7))


def test_records_are_shuffled_dealt_out_and_padded(tmp_path: Path) -> None:
    path = written(tmp_path / "a")
    cw.set_seed(1)
    data = ds.MindDataset(path, ["label"])
    first = labels(data)
    assert sorted(first) == [0, 1, 2, 3, 4]
    assert [first, labels(data)] != [[0, 1, 2, 3, 4]] * 2
    padded = ds.MindDataset(
        path, ["label"], shuffle=False, num_shards=2, shard_id=1,
        padded_sample={"label": np.int32(-1)}, num_padded=1,
    )  # fmt: skip
    assert labels(padded) == [1, 3, -1]
    assert labels(ds.MindDataset(path, sampler=ds.SubsetSampler([4, 0]))) == [4, 0]
    cw.set_seed(0)


def test_a_saved_dataset_is_read_again(tmp_path: Path) -> None:
    source = ds.NumpySlicesDataset(
        {"x": np.arange(12, dtype=np.float16).reshape(6, 2), "s": ["a", "b", "c", "d", "e", "f"]},
        shuffle=False,
    )
    source.save(str(tmp_path / "all.mindrecord"), num_files=2)
    again = ds.MindDataset(str(tmp_path / "all.mindrecord"), shuffle=False)
    pairs = zip(
        source.create_dict_iterator(num_epochs=1, output_numpy=True),
        again.create_dict_iterator(num_epochs=1, output_numpy=True),
        strict=True,
    )
    for a, b in pairs:
        np.testing.assert_array_equal(a["x"], b["x"])
        assert (b["x"].dtype, str(a["s"])) == (np.float16, str(b["s"]))
    ragged = ds.GeneratorDataset(lambda: iter([(np.ones(1),), (np.ones(1, int),)]), "x")
    with pytest.raises(TypeError, match="row 1, x: needs float64, this is int64"):
        ragged.save(tmp_path / "b")
    with pytest.raises(ValueError, match="file_type must be 'mindrecord'"):
        source.save(tmp_path / "b", file_type="tfrecord")


@pytest.mark.parametrize(
    ("change", "text"),
    [
        (lambda b: b[:-1], "was cut off after"),
        (lambda b: b[:10], "it has only 10 bytes"),
        (lambda b: b"MindRec" + b[7:], "it begins with b'MindRec1'"),
        (lambda b: b[:-40] + b"\xff" + b[-39:], "its footer at byte .* is damaged"),
        (lambda b: b[:20] + b"\xff" + b[21:], "row 0: the record at byte 8 is damaged"),
    ],
)  # fmt: skip
def test_damaged_files_are_named(tmp_path: Path, change: Any, text: str) -> None:
    path = written(tmp_path / "a.mindrecord")
    path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ds.DataError, match=text):
        list(ds.MindDataset(path, shuffle=False))
    with pytest.raises(ds.DataError, match=text):
        list(FileReader(path).get_next())


def test_an_unfinished_file_is_none(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path / "a")
    writer.add_schema({"x": {"type": "int64"}})
    writer.write_raw_data([{"x": 1}])
    with pytest.raises(ds.DataError, match="There is no file"):
        FileReader(tmp_path / "a")
    writer.commit()
    assert FileReader(tmp_path / "a").len() == 1
    with pytest.raises(RuntimeError, match="committed already"):
        writer.write_raw_data([{"x": 2}])
    with pytest.raises(FileExistsError, match="overwrite=True"):
        FileWriter(tmp_path / "a")


@pytest.mark.parametrize(
    ("value", "text"),
    [
        ({"label": "one"}, "row 1, label: needs int32, this is <U3"),
        ({"label": 2**40}, "row 1, label: 1099511627776 does not fit into int32"),
        ({"label": 1.5}, "row 1, label: 1.5 does not fit into int32"),
        ({"name": 3}, "row 1, name: needs a str, not int"),
        ({"data": "text"}, "row 1, data: needs bytes, not str"),
        ({"points": np.ones((2, 3), np.float32)}, r"needs the shape \[-1, 2\], this has \[2, 3\]"),
        ({"points": np.ones((2, 2))}, "points: needs float32, this is float64"),
        ({"other": 1}, "not in the schema: other"),
    ],
)  # fmt: skip
def test_rows_must_be_what_the_schema_says(tmp_path: Path, value: Any, text: str) -> None:
    writer = FileWriter(tmp_path / "a")
    writer.add_schema(SCHEMA)
    with pytest.raises((TypeError, ValueError), match=text):
        writer.write_raw_data([row(0), row(1) | value])
    writer.write_raw_data([row(0)])  # the good row of the refused list was not written
    writer.commit()
    assert FileReader(tmp_path / "a").len() == 1


def test_schemas_are_checked(tmp_path: Path) -> None:
    writer = FileWriter(tmp_path / "a")
    with pytest.raises(RuntimeError, match="call add_schema first"):
        writer.write_raw_data([{}])
    with pytest.raises(ValueError, match="field 'x' needs a \"type\""):
        writer.add_schema({"x": {"type": "complex64"}})
    with pytest.raises(ValueError, match="only numbers have one"):
        writer.add_schema({"x": {"type": "string", "shape": [2]}})
    writer.add_schema({"x": {"type": "int8"}})
    with pytest.raises(ValueError, match="no field y in the schema"):
        writer.add_index(["y"])


def test_cifars_python_version_becomes_records(tmp_path: Path) -> None:
    pixels = np.random.default_rng(0).integers(0, 256, (2, 3072), np.uint8)
    names = [f"data_batch_{n}" for n in range(1, 6)] + ["test_batch"]
    for name in names:
        content = {b"data": pixels, b"labels": [3, 8]}
        (tmp_path / name).write_bytes(pickle.dumps(content, protocol=2))
    Cifar10ToMR(str(tmp_path), str(tmp_path / "cifar.mindrecord")).transform(["id", "label"])
    data = ds.MindDataset(tmp_path / "cifar.mindrecord", shuffle=False)
    assert data.get_col_names() == ["id", "label", "data"]
    assert labels(data) == [3, 8] * 5
    assert len(ds.MindDataset(tmp_path / "cifar.mindrecord_test")) == 2
    image = next(data.map(ds.vision.Decode(), "data").create_dict_iterator(output_numpy=True))
    np.testing.assert_array_equal(image["data"], pixels[0].reshape(3, 32, 32).transpose(1, 2, 0))

    fine = {"data": pixels, "fine_labels": [1, 99], "coarse_labels": [0, 19]}
    for name in ("train", "test"):
        (tmp_path / name).write_bytes(pickle.dumps(fine, protocol=2))
    Cifar100ToMR(tmp_path, tmp_path / "hundred").run()
    found = next(FileReader(tmp_path / "hundred").get_next())
    assert (int(found["fine_label"]), int(found["coarse_label"])) == (1, 0)


class Harmful:
    """What a pickle could hold."""

    def __reduce__(self) -> tuple[Any, ...]:
        return print, ("ran",)


def test_pickles_run_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    for name in [f"data_batch_{n}" for n in range(1, 6)]:
        (tmp_path / name).write_bytes(pickle.dumps({b"data": Harmful()}, protocol=2))
    with pytest.raises(ds.DataError, match=r"data_batch_1 is no CIFAR file.*names .*print"):
        Cifar10ToMR(tmp_path, tmp_path / "out").run()
    assert "ran" not in capsys.readouterr().out


def test_nothing_is_left_of_a_save_that_fails(tmp_path: Path) -> None:
    def fails(value: np.ndarray) -> np.ndarray:
        if value > 600:
            raise ArithmeticError("too large")
        return value

    data = ds.NumpySlicesDataset(np.arange(700), ["x"], shuffle=False)
    with pytest.raises(ds.RowError, match="too large"):
        data.map(fails).save(tmp_path / "data", 2)
    with pytest.raises(ValueError, match="no rows"):
        data.filter(lambda value: False).save(tmp_path / "data")
    assert not list(tmp_path.iterdir())
