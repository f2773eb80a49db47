"""Data sets in files of their real formats, whole and damaged."""

from __future__ import annotations

import gzip
import struct
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds
from PIL import Image

RNG = np.random.default_rng(0)
IMAGES = RNG.integers(0, 256, (6, 28, 28), np.uint8)
LABELS = np.array([3, 1, 4, 1, 5, 9], np.uint8)


def idx(array: np.ndarray, kind: int = 0x08) -> bytes:
    """An array as the bytes of an IDX file."""
    head = struct.pack(f">BBBB{array.ndim}I", 0, 0, kind, array.ndim, *array.shape)
    return head + array.astype(array.dtype.newbyteorder(">")).tobytes()


@pytest.fixture
def mnist(tmp_path: Path) -> Path:
    """Four training digits, and two compressed ones to test on."""
    (tmp_path / "train-images-idx3-ubyte").write_bytes(idx(IMAGES[:4]))
    (tmp_path / "train-labels-idx1-ubyte").write_bytes(idx(LABELS[:4]))
    (tmp_path / "t10k-images-idx3-ubyte.gz").write_bytes(gzip.compress(idx(IMAGES[4:])))
    (tmp_path / "t10k-labels-idx1-ubyte.gz").write_bytes(gzip.compress(idx(LABELS[4:])))
    return tmp_path


def labels(dataset: ds.Dataset, column: str = "label") -> list[Any]:
    rows = dataset.create_dict_iterator(num_epochs=1, output_numpy=True)
    return [row[column].tolist() for row in rows]


def test_mnist_is_read_by_usage(mnist: Path) -> None:
    data = ds.MnistDataset(str(mnist), "train", shuffle=False)
    image, label = next(iter(data))
    assert (image.shape, image.dtype, label.shape, label.dtype) == (
        (28, 28, 1), cw.uint8, (), cw.int32,
    )  # fmt: skip
    np.testing.assert_array_equal(image.asnumpy()[:, :, 0], IMAGES[0])
    assert labels(data) == [3, 1, 4, 1]
    assert labels(ds.FashionMnistDataset(mnist, "test", shuffle=False)) == [5, 9]
    assert labels(ds.KMnistDataset(mnist, shuffle=False)) == LABELS.tolist()
    assert data.num_classes() == data.batch(2).num_classes() == 10
    assert labels(ds.MnistDataset(mnist, num_samples=2, shuffle=False)) == [3, 1]
    assert labels(ds.MnistDataset(mnist, "train", sampler=ds.PKSampler(1))) == [1, 3, 4]


def test_row_44_mnist_shuffles_by_default(mnist: Path) -> None:
    cw.set_seed(1)
    data = ds.MnistDataset(mnist)
    first, second = labels(data), labels(data)
    assert sorted(first) == sorted(LABELS.tolist())
    assert first != LABELS.tolist()
    assert first != second
    cw.set_seed(0)


def test_the_tutorials_pipeline(mnist: Path) -> None:
    steps = [
        ds.vision.Rescale(1.0 / 255.0, 0),
        ds.vision.Normalize(mean=(0.1307,), std=(0.3081,)),
        ds.vision.HWC2CHW(),
    ]
    data = ds.MnistDataset(mnist, "train", shuffle=False).map(steps, "image")
    data = data.map(ds.transforms.TypeCast(cw.int32), "label").batch(3)
    image, label = next(data.create_tuple_iterator())
    expected = (IMAGES[:3, None].astype(np.float64) / 255 - 0.1307) / 0.3081
    np.testing.assert_allclose(image.asnumpy(), expected, rtol=1e-5, atol=1e-6)
    assert (image.dtype, label.dtype, label.shape) == (cw.float32, cw.int32, (3,))


def test_relatives_of_mnist(tmp_path: Path) -> None:
    for part, rows in (("train", slice(4)), ("test", slice(4, 6))):
        for prefix in (f"emnist-letters-{part}", f"qmnist-{part}"):
            (tmp_path / f"{prefix}-images-idx3-ubyte").write_bytes(idx(IMAGES[rows]))
        (tmp_path / f"emnist-letters-{part}-labels-idx1-ubyte").write_bytes(idx(LABELS[rows]))
        known = np.stack([LABELS[rows].astype(np.int32)] + [np.arange(len(LABELS[rows]))] * 7, 1)
        path = tmp_path / f"qmnist-{part}-labels-idx2-int"
        path.write_bytes(idx(known.astype(np.int32), 0x0C))
    letters = ds.EMnistDataset(tmp_path, "letters", "train", shuffle=False)
    assert labels(letters) == [3, 1, 4, 1]
    assert letters.num_classes() == 26
    assert labels(ds.QMnistDataset(tmp_path, "test10k", shuffle=False)) == [5, 9]
    assert labels(ds.QMnistDataset(tmp_path, "test50k", shuffle=False)) == []
    full = ds.QMnistDataset(tmp_path, "all", compat=False, shuffle=False)
    assert labels(full)[5] == [9, 1, 1, 1, 1, 1, 1, 1]


@pytest.mark.parametrize(
    ("file", "change", "text"),
    [
        ("train-images-idx3-ubyte", lambda b: b[:-1], "3152 bytes for 4×28×28 values"),
        ("train-images-idx3-ubyte", lambda b: b + b"\0", "but has 3153"),
        ("train-images-idx3-ubyte", lambda b: b"PK\3\4" + b, "begins with the bytes 50 4b 03 04"),
        ("train-images-idx3-ubyte", lambda b: b"", "begins with the bytes none"),
        ("train-labels-idx1-ubyte", lambda b: idx(LABELS), "train-labels-idx1-ubyte 6 labels"),
        ("train-labels-idx1-ubyte", None, "has no file train-labels"),
        ("t10k-images-idx3-ubyte.gz", lambda b: b[:-9], "ubyte.gz cannot be read"),
        ("t10k-images-idx3-ubyte.gz", lambda b: b[:99] + bytes(9) + b[108:], "gz cannot be read"),
    ],
)  # fmt: skip
def test_damaged_idx_files_are_named(
    mnist: Path, file: str, change: Callable[[bytes], bytes] | None, text: str
) -> None:
    path = mnist / file
    if change is None:
        path.unlink()
    else:
        path.write_bytes(change(path.read_bytes()))
    with pytest.raises(ds.DataError, match=text):
        ds.MnistDataset(mnist)


def test_missing_folders_and_files_are_named(tmp_path: Path) -> None:
    with pytest.raises(ds.DataError, match="there is no folder"):
        ds.MnistDataset(tmp_path / "none")
    with pytest.raises(ds.DataError, match="has no file t10k-images-idx3-ubyte"):
        ds.MnistDataset(tmp_path, "test")
    with pytest.raises(ValueError, match="usage must be train, test, all or None"):
        ds.MnistDataset(tmp_path, "valid")
    with pytest.raises(ds.DataError, match=r"has no .bin files of train rows"):
        ds.Cifar10Dataset(tmp_path, "train")
    with pytest.raises(ds.DataError, match=r"there is no file .*a.txt"):
        ds.TextFileDataset(str(tmp_path / "a.txt"))


def cifar(images: np.ndarray, *labels: list[int]) -> bytes:
    """Images N×32×32×3 and labels as CIFAR's binary records."""
    planes = images.transpose(0, 3, 1, 2).reshape(len(images), -1)
    columns = [np.asarray(column, np.uint8)[:, None] for column in labels]
    return np.concatenate([*columns, planes], 1).tobytes()


def test_cifar_10_and_100(tmp_path: Path) -> None:
    pixels = RNG.integers(0, 256, (3, 32, 32, 3), np.uint8)
    (tmp_path / "data_batch_1.bin").write_bytes(cifar(pixels[:1], [7]))
    (tmp_path / "data_batch_2.bin").write_bytes(cifar(pixels[1:2], [2]))
    (tmp_path / "test_batch.bin").write_bytes(cifar(pixels[2:], [9]))
    data = ds.Cifar10Dataset(tmp_path, "train", shuffle=False)
    first = next(data.create_dict_iterator(output_numpy=True))
    np.testing.assert_array_equal(first["image"], pixels[0])
    assert labels(data) == [7, 2]
    assert labels(ds.Cifar10Dataset(tmp_path, shuffle=False)) == [7, 2, 9]
    (tmp_path / "train.bin").write_bytes(cifar(pixels, [1, 2, 3], [99, 50, 0]))
    fine = ds.Cifar100Dataset(tmp_path, "train", shuffle=False)
    assert fine.get_col_names() == ["image", "coarse_label", "fine_label"]
    assert labels(fine, "coarse_label") == [1, 2, 3]
    assert labels(fine, "fine_label") == [99, 50, 0]
    assert (data.num_classes(), fine.num_classes()) == (10, 100)

    (tmp_path / "data_batch_2.bin").write_bytes(cifar(pixels, [1, 10, 3]))
    text = r"data_batch_2.bin, record 1 \(byte 3073\): label 10 is outside 0..9"
    with pytest.raises(ds.DataError, match=text):
        ds.Cifar10Dataset(tmp_path, "train")
    (tmp_path / "data_batch_2.bin").write_bytes(b"\0" * 3000)
    with pytest.raises(ds.DataError, match=r"data_batch_2.bin has 3000 bytes, .* records of 3073"):
        ds.Cifar10Dataset(tmp_path, "train")
    (tmp_path / "data_batch_1.bin").unlink()
    with pytest.raises(ds.DataError, match=r"has no file data_batch_1.bin, but later ones"):
        ds.Cifar10Dataset(tmp_path, "train")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Pictures of two classes, one of them in a folder below."""
    for name, colour in (("cat/a.png", 10), ("cat/deep/b.JPG", 20), ("dog/c.png", 30)):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        form = "JPEG" if name.endswith("JPG") else "PNG"
        Image.new("RGB", (5, 4), (colour, colour, colour)).save(path, form)
    (tmp_path / "cat" / "notes.txt").write_text("none")
    return tmp_path


def test_images_in_a_folder_a_class(folder: Path) -> None:
    data = ds.ImageFolderDataset(folder, shuffle=False, decode=True, num_parallel_workers=2)
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [row["image"].shape for row in rows] == [(4, 5, 3)] * 3
    assert [int(row["image"][0, 0, 0]) for row in rows] == [10, 20, 30]
    assert labels(data) == [0, 0, 1]
    assert data.get_class_indexing() == {"cat": 0, "dog": 1}
    assert data.batch(3).num_classes() == 2
    raw = ds.ImageFolderDataset(folder, shuffle=False, class_indexing={"dog": 7})
    assert labels(raw) == [7]
    decoded = raw.map(ds.vision.Decode(), "image")
    assert next(iter(decoded))[0].shape == (4, 5, 3)
    assert len(ds.ImageFolderDataset(folder, extensions=[".png"])) == 2
    assert labels(ds.ImageFolderDataset(folder, sampler=ds.PKSampler(1))) == [0, 1]


def test_damaged_images_are_named(folder: Path) -> None:
    path = folder / "dog" / "c.png"
    Image.fromarray(IMAGES[0]).save(path)
    path.write_bytes(path.read_bytes()[:400])
    data = ds.ImageFolderDataset(folder, shuffle=False, decode=True)
    with pytest.raises(ds.DataError, match=r"dog/c.png: the image of 400 bytes is damaged"):
        list(data)
    path.write_bytes(b"no image")
    with pytest.raises(ds.DataError, match=r"c.png: 8 bytes that begin with b'no image'"):
        list(data)
    raw = ds.ImageFolderDataset(folder, shuffle=False)
    place = r"ImageFolderDataset, map of image, row 2, .* Decode, .*c\.png: 8 bytes"
    for workers in (1, 2):
        decoded = raw.map(
            ds.vision.Decode(), "image", num_parallel_workers=workers, python_multiprocessing=True
        )
        with pytest.raises(ds.RowError, match=place):
            list(decoded)
    with pytest.raises(ds.DataError, match="has no folder 'cow'; it has cat, dog"):
        ds.ImageFolderDataset(folder, class_indexing={"cow": 0})
    with pytest.raises(ds.DataError, match=r"has a file that ends in .bmp"):
        ds.ImageFolderDataset(folder, extensions=[".bmp"])


def test_lines_of_text_files(tmp_path: Path) -> None:
    (tmp_path / "a.txt").write_text("one\n\ntwo words\r\n", encoding="utf-8")
    (tmp_path / "b.txt").write_text("drei: äöü", encoding="utf-8")
    pattern = str(tmp_path / "*.txt")
    data = ds.TextFileDataset(pattern, shuffle=False)
    assert labels(data, "text") == ["one", "two words", "drei: äöü"]
    assert len(data) == 3
    cw.set_seed(2)
    shuffled = [labels(ds.TextFileDataset(pattern), "text") for _ in range(6)]
    assert len({tuple(lines) for lines in shuffled}) > 2
    by_file = {tuple(labels(ds.TextFileDataset(pattern, shuffle=ds.Shuffle.FILES), "text"))
               for _ in range(12)}  # fmt: skip
    assert by_file == {("one", "two words", "drei: äöü"), ("drei: äöü", "one", "two words")}
    inside = [
        labels(ds.TextFileDataset(pattern, shuffle=ds.Shuffle.INFILE), "text") for _ in range(12)
    ]
    assert {lines[2] for lines in inside} == {"drei: äöü"}
    assert {lines[0] for lines in inside} == {"one", "two words"}
    cw.set_seed(0)
    (tmp_path / "b.txt").write_bytes(b"fine\n\xff")
    with pytest.raises(ds.DataError, match=r"b.txt, byte 5: 0xff is no UTF-8 text"):
        ds.TextFileDataset(pattern)


def test_cells_of_csv_files(tmp_path: Path) -> None:
    path = tmp_path / "t.csv"
    path.write_text('n,x,s\n1,2.5,"a,b"\n2,,c\n')
    text = next(ds.CSVDataset(path, shuffle=False).create_dict_iterator(output_numpy=True))
    assert {name: value.item() for name, value in text.items()} == {
        "n": "1",
        "x": "2.5",
        "s": "a,b",
    }
    typed = ds.CSVDataset(str(path), column_defaults=[0, -1.0, ""], shuffle=False)
    assert labels(typed, "x") == [2.5, -1.0]
    assert typed.output_types() == [np.int32, np.float32, np.str_]
    path.write_text("1;2\n3;4\n")
    plain = ds.CSVDataset(path, ";", [0, 0], ["a", "b"], shuffle=False)
    assert labels(plain, "b") == [2, 4]
    two = ds.CSVDataset([path, path], ";", [0, 0], ["a", "b"], shuffle=False)
    assert labels(two, "a") == [1, 3, 1, 3]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a,b\n1,2\n3\n", r"t.csv, line 3: 1 cells for 2 columns \(a, b\)"),
        ("a,b\n1,2\n\n3,x\n", r"t.csv, line 4: b is 'x', no int"),
        ("a,b\n1,3000000000\n", r"t.csv, line 2: b is 3000000000, beyond int32"),
        ('a,b\n1,"2\n', "t.csv is no readable CSV text after line 1: unexpected end of data"),
        ("", "t.csv has no line with names"),
        ("a,b\n", "the files have no rows"),
    ],
)
def test_damaged_csv_files_are_named(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "t.csv").write_text(text)
    with pytest.raises(ds.DataError, match=message):
        ds.CSVDataset(tmp_path / "t.csv", column_defaults=[0, 0])


def test_tables(tmp_path: Path) -> None:
    import pyarrow as pa
    from pyarrow import parquet

    columns = {
        "x": pa.array([1.5, 2.5, 3.5], pa.float32()),
        "n": pa.array([1, 2, 3], pa.int16()),
        "s": ["a", "bb", "c"],
        "v": [[1, 2], [3], []],
    }
    path = tmp_path / "t.parquet"
    parquet.write_table(pa.table(columns), path)
    data = ds.TableDataset(path, shuffle=False)
    rows = list(data.create_dict_iterator(num_epochs=1, output_numpy=True))
    assert [row["v"].tolist() for row in rows] == [[1, 2], [3], []]
    assert data.output_types() == [np.float32, np.int16, np.str_, np.int64]
    assert labels(ds.TableDataset(str(path), ["s", "n"], shuffle=False), "s") == ["a", "bb", "c"]
    (tmp_path / "t.csv").write_text("a,b\n1,0.5\n2,1.5\n")
    cells = ds.TableDataset(tmp_path / "t.csv", shuffle=False)
    assert labels(cells, "b") == [0.5, 1.5]
    assert cells.output_types() == [np.int64, np.float64]
    with pytest.raises(ValueError, match="no column z; there are x, n, s, v"):
        ds.TableDataset(path, ["z"])

    parquet.write_table(pa.table({"x": [1, None]}), path)
    with pytest.raises(ds.DataError, match=r"t.parquet, row 1: column 'x' is empty"):
        ds.TableDataset(path)
    parquet.write_table(pa.table({"x": [[1], [None]]}), path)
    with pytest.raises(ds.DataError, match="row 1: a list in column 'x' has an empty place"):
        ds.TableDataset(path)
    parquet.write_table(pa.table({"x": pa.array([1], pa.timestamp("s"))}), path)
    with pytest.raises(ds.DataError, match=r"column 'x' holds timestamp\[ms\]"):
        ds.TableDataset(path)
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ds.DataError, match=r"t.parquet is no readable parquet table"):
        ds.TableDataset(path)


def test_schemas_of_files(tmp_path: Path) -> None:
    path = tmp_path / "schema.json"
    path.write_text('{"columns": {"a": {"type": "float32", "shape": [2]}}}')
    schema = ds.Schema(path)
    assert schema.names == ["a"]
    path.write_text(schema.to_json())
    assert ds.Schema(path).columns == schema.columns
    path.write_text('{"columns": {"a": {}}}')
    with pytest.raises(ds.DataError, match=r"schema.json is no schema: KeyError: 'type'"):
        ds.Schema(path)
