"""Data nodes: the digits, `.npz` and CSV files, the split, and clear refusals."""

from pathlib import Path

import numpy as np
import pytest
from cellwire.dataset import DataError, load_csv
from cellwire.nodes.data import DataSource, digits
from cellwire.nodes.library import LIBRARY


def opened(type: str, base: Path, **params: object) -> DataSource:
    spec = LIBRARY[type]
    assert spec.data is not None
    filled = spec.filled(params)
    source = spec.data.open(filled, base)
    assert isinstance(source, DataSource)
    avals = spec.data.avals(filled, base)
    for port, array in source.arrays.items():
        assert avals[port].shape[1:] == array.shape[1:]
        assert avals[port].dtype.numpy == array.dtype
    if spec.data.rows is not None:
        assert spec.data.rows(filled, base) == (len(source.train), len(source.held_out))
    return source


def test_the_digits_are_split_once_and_for_all(tmp_path: Path) -> None:
    source = opened("data.digits", tmp_path)
    assert (len(source.train), len(source.held_out)) == (1437, 360)
    assert sorted([*source.train, *source.held_out]) == list(range(1797))
    again = opened("data.digits", tmp_path)
    assert np.array_equal(source.held_out, again.held_out)
    other = opened("data.digits", tmp_path, split_seed=1)
    assert not np.array_equal(source.held_out, other.held_out)
    images, labels = (tensor.asnumpy() for tensor in source())
    assert images.shape == (32, 1, 8, 8)
    assert labels.tolist() == digits()["labels"][source.train[:32]].tolist()
    assert digits()["images"].max() == 16


def test_npz_arrays_are_named_and_halved(tmp_path: Path) -> None:
    inputs, labels = np.arange(12.0).reshape(6, 2), np.arange(6)
    np.savez(tmp_path / "d.npz", x=inputs, y=labels, text=np.array(["a"]))
    source = opened("data.npz", tmp_path, path="d.npz", inputs="x", labels="y", held_out=0.5)
    assert source.arrays["inputs"].dtype == np.float32
    assert source.arrays["labels"].dtype == np.int32
    assert len(source.held_out) == 3


def test_csv_columns_have_titles_and_text_labels(tmp_path: Path) -> None:
    path = tmp_path / "flowers.csv"
    path.write_text("length,kind,width\n1.5,rose,2\n3,aster,4\n\n5,rose,6e1\n", encoding="utf-8")
    source = opened("data.csv", tmp_path, path="flowers.csv", label="kind", held_out=0)
    assert source.arrays["inputs"].tolist() == [[1.5, 2.0], [3.0, 4.0], [5.0, 60.0]]
    assert source.arrays["labels"].tolist() == [1, 0, 1]
    assert len(source.held_out) == 0


def test_csv_without_titles_has_its_labels_last(tmp_path: Path) -> None:
    (tmp_path / "n.csv").write_text("1,2,0.5\n3,4,1.5\n")
    source = opened("data.csv", tmp_path, path="n.csv", target="value", held_out=0)
    assert source.arrays["labels"].dtype == np.float32
    assert source.arrays["labels"].tolist() == [0.5, 1.5]


def test_a_changed_file_is_read_again(tmp_path: Path) -> None:
    path = tmp_path / "n.csv"
    path.write_text("1,2,0\n")
    assert opened("data.csv", tmp_path, path="n.csv", held_out=0).rows == 1
    path.write_text("1,2,0\n3,4,1\n")
    assert opened("data.csv", tmp_path, path="n.csv", held_out=0).rows == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("1,2,a\nx,4,b\n", "bad.csv, line 2: column 1 is 'x', not a number"),
        ("1,2,a\n3,b\n", "bad.csv, line 2: 2 columns where the first line has 3"),
        ("1\n2\n", "bad.csv has 1 columns"),
        ("a,b\n", "bad.csv has no rows"),
        ('1,2,"a\n3,4,b\n', "bad.csv is no readable CSV text after line 0"),
        ("1,2,99999999999\n", "bad.csv has the label 99999999999, which is no number of a class"),
        ("1,2," + "9" * 5000 + "\n", "which is no number of a class"),
        ("1,2," + "x" * 140_000 + "\n", "field larger than field limit"),
        ("1e300,2,0\n", "bad.csv holds 1e\\+300, which float32 cannot hold"),
    ],
)
def test_bad_csv_text_is_told_with_its_line(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "bad.csv"
    path.write_text(text)
    with pytest.raises(DataError, match=message):
        load_csv(path, "", "class")


def test_csv_text_that_is_not_utf8_further_down_is_told(tmp_path: Path) -> None:
    path = tmp_path / "late.csv"
    path.write_bytes(b"a,b,kind\n" + b"1,2,x\n" * 2000 + "3,4,é\n".encode("latin-1"))
    with pytest.raises(DataError, match=r"no readable CSV text after line \d+"):
        load_csv(path, "", "class")


def test_numbers_that_do_not_fit_are_told_and_never_wrapped(tmp_path: Path) -> None:
    np.savez(tmp_path / "w.npz", inputs=np.ones((2, 1)), labels=np.array([0, 2**40]))
    with pytest.raises(DataError, match=r"w\.npz, labels holds 1099511627776, which int32"):
        opened("data.npz", tmp_path, path="w.npz")
    np.savez(tmp_path / "f.npz", inputs=np.array([[1e300]]), labels=np.zeros(1, np.int32))
    with pytest.raises(DataError, match=r"f\.npz, inputs holds 1e\+300, which float32"):
        opened("data.npz", tmp_path, path="f.npz")
    values = np.array([[np.inf, np.nan]])
    np.savez(tmp_path / "n.npz", inputs=values.astype(np.longdouble), labels=np.zeros(1, np.int32))
    source = opened("data.npz", tmp_path, path="n.npz")
    np.testing.assert_array_equal(source.arrays["inputs"], values.astype(np.float32))


def test_a_packed_file_that_is_damaged_inside_is_told(tmp_path: Path) -> None:
    rows = np.random.default_rng(0).normal(size=(30, 4))
    np.savez_compressed(tmp_path / "d.npz", inputs=rows, labels=np.zeros(30, np.int32))
    packed = bytearray((tmp_path / "d.npz").read_bytes())
    for start in (120, 500):
        damaged = packed[:start] + b"\xff" * 60 + packed[start + 60 :]
        (tmp_path / "d.npz").write_bytes(bytes(damaged))
        with pytest.raises(DataError, match=r"d\.npz is no readable \.npz file"):
            opened("data.npz", tmp_path, path="d.npz")


@pytest.mark.parametrize("path", ["a\0b.npz", "~nobody-of-that-name/a.npz", "a" * 5000])
def test_a_path_that_can_name_no_file_is_told(tmp_path: Path, path: str) -> None:
    with pytest.raises(DataError, match="names no file"):
        opened("data.npz", tmp_path, path=path)


def test_files_that_cannot_be_read_are_told(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="No file is chosen"):
        opened("data.npz", tmp_path)
    with pytest.raises(DataError, match="There is no file"):
        opened("data.csv", tmp_path, path="none.csv")
    (tmp_path / "d.npz").write_text("hello")
    with pytest.raises(DataError, match=r"d\.npz is no readable \.npz file"):
        opened("data.npz", tmp_path, path="d.npz")
    np.savez(tmp_path / "e.npz", inputs=np.zeros((3, 1)), labels=np.zeros(4))
    with pytest.raises(DataError, match="different lengths: inputs 3, labels 4"):
        opened("data.npz", tmp_path, path="e.npz")
