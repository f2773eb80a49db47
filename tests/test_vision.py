"""Transforms of images and of any data: values, kinds of images, chance, mistakes."""

from __future__ import annotations

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import cellwire as cw
import numpy as np
import pytest
from cellwire import dataset as ds
from cellwire.dataset import transforms, vision
from cellwire.dataset.vision import Border, ConvertMode, ImageBatchFormat, Inter
from PIL import Image

RNG = np.random.default_rng(0)
IMAGE = RNG.integers(0, 256, (8, 12, 3), np.uint8)
RAMP = np.arange(12, dtype=np.uint8).reshape(3, 4)

SAME_SIZE = {
    "AdjustBrightness": vision.AdjustBrightness(1.5),
    "AdjustContrast": vision.AdjustContrast(0.5),
    "AdjustGamma": vision.AdjustGamma(2),
    "AdjustHue": vision.AdjustHue(0.2),
    "AdjustSaturation": vision.AdjustSaturation(0.3),
    "AdjustSharpness": vision.AdjustSharpness(2),
    "Affine": vision.Affine(10, (0.1, 0.1), 1.2, (5, 3), Inter.LINEAR),
    "AutoContrast": vision.AutoContrast(1),
    "Equalize": vision.Equalize(),
    "Erase": vision.Erase(1, 2, 3, 4),
    "GaussianBlur": vision.GaussianBlur(3),
    "HorizontalFlip": vision.HorizontalFlip(),
    "Invert": vision.Invert(),
    "Perspective": vision.Perspective(
        [[0, 0], [12, 0], [12, 8], [0, 8]], [[1, 1], [11, 0], [12, 8], [0, 7]]
    ),
    "Posterize": vision.Posterize(3),
    "RandomAdjustSharpness": vision.RandomAdjustSharpness(2, 1.0),
    "RandomAffine": vision.RandomAffine(15, (-0.1, 0.1), (0.8, 1.2), (-3, 3)),
    "RandomAutoContrast": vision.RandomAutoContrast(prob=1.0),
    "RandomColor": vision.RandomColor(),
    "RandomColorAdjust": vision.RandomColorAdjust(0.4, 0.4, 0.4, 0.1),
    "RandomEqualize": vision.RandomEqualize(1.0),
    "RandomGrayscale": vision.RandomGrayscale(1.0),
    "RandomHorizontalFlip": vision.RandomHorizontalFlip(),
    "RandomInvert": vision.RandomInvert(),
    "RandomPerspective": vision.RandomPerspective(prob=1.0),
    "RandomPosterize": vision.RandomPosterize((2, 5)),
    "RandomRotation": vision.RandomRotation(20),
    "RandomSharpness": vision.RandomSharpness(),
    "RandomSolarize": vision.RandomSolarize(),
    "RandomVerticalFlip": vision.RandomVerticalFlip(),
    "Rotate": vision.Rotate(30),
    "Solarize": vision.Solarize(100),
    "VerticalFlip": vision.VerticalFlip(),
}
OTHER_SIZE = {
    "CenterCrop": (vision.CenterCrop(6), (6, 6)),
    "Crop": (vision.Crop((1, 2), (3, 5)), (3, 5)),
    "Pad": (vision.Pad((1, 2, 3, 4)), (14, 16)),
    "PadToSize": (vision.PadToSize(20), (20, 20)),
    "RandomCrop": (vision.RandomCrop((8, 9), 2), (8, 9)),
    "RandomResize": (vision.RandomResize((5, 6)), (5, 6)),
    "RandomResizedCrop": (vision.RandomResizedCrop((7, 5)), (7, 5)),
    "Resize": (vision.Resize((5, 6)), (5, 6)),
    "ResizedCrop": (vision.ResizedCrop(1, 2, 4, 4, 6), (6, 6)),
}
CASES = [(name, op, (8, 12)) for name, op in SAME_SIZE.items()]
CASES += [(name, op, size) for name, (op, size) in OTHER_SIZE.items()]


@pytest.mark.parametrize(("name", "op", "size"), CASES, ids=[case[0] for case in CASES])
def test_a_transform_gives_the_kind_of_image_that_it_got(
    name: str, op: Callable[[Any], Any], size: tuple[int, int]
) -> None:
    alpha = RNG.integers(0, 256, (8, 12, 4), np.uint8)
    for image in (IMAGE, IMAGE[:, :, :1].copy(), IMAGE[:, :, 0].copy(), alpha):
        before = image.copy()
        made = op(image)
        assert made.shape == (*size, *image.shape[2:])
        assert made.dtype == np.uint8
        np.testing.assert_array_equal(image, before)  # the row is left as it was
    cw.set_seed(1)
    pillow = op(Image.fromarray(IMAGE))
    cw.set_seed(1)
    assert isinstance(pillow, Image.Image)
    np.testing.assert_array_equal(np.asarray(pillow), op(IMAGE))
    cw.set_seed(0)


def encoded(image: np.ndarray, form: str = "PNG") -> bytes:
    stream = io.BytesIO()
    Image.fromarray(image).save(stream, form)
    return stream.getvalue()


# values


def test_decode_and_the_bytes_of_files() -> None:
    data = np.frombuffer(encoded(IMAGE), np.uint8)
    np.testing.assert_array_equal(vision.Decode()(data), IMAGE)
    assert isinstance(vision.Decode(to_pil=True)(data.tobytes()), Image.Image)
    assert isinstance(vision.py_transforms.Decode()(data), Image.Image)
    assert vision.Decode()(encoded(IMAGE[:, :, 0])).shape == (8, 12, 3)
    assert vision.RandomCropDecodeResize(5)(data).shape == (5, 5, 3)
    with pytest.raises(ValueError, match="bytes is damaged"):
        vision.Decode()(data[:200])
    with pytest.raises(ValueError, match=r"begin with b'\\x00\\x00\\x00\\x00' are no image"):
        vision.Decode()(bytes(4))
    with pytest.raises(TypeError, match=r"seems to be decoded"):
        vision.Decode()(IMAGE)
    deep = io.BytesIO()
    Image.fromarray(np.full((2, 2), 40_000, np.uint16)).save(deep, "PNG")
    with pytest.raises(ValueError, match="which 8 bits a channel cannot hold"):
        vision.Decode()(deep.getvalue())


def test_numbers_for_networks() -> None:
    scaled = vision.Rescale(1 / 255, -0.5)(IMAGE)
    np.testing.assert_allclose(scaled, IMAGE / 255 - 0.5, atol=1e-6)
    mean, std = [10.0, 20.0, 30.0], [1.0, 2.0, 4.0]
    normal = vision.Normalize(mean, std)(IMAGE)
    np.testing.assert_allclose(normal, (IMAGE - np.array(mean)) / std, rtol=1e-6)
    chw = vision.HWC2CHW()(IMAGE)
    np.testing.assert_array_equal(chw, IMAGE.transpose(2, 0, 1))
    np.testing.assert_allclose(
        vision.Normalize(mean, std, is_hwc=False)(chw), normal.transpose(2, 0, 1)
    )
    padded = vision.NormalizePad(mean, std, "float16")(IMAGE)
    assert (padded.shape, padded.dtype) == ((8, 12, 4), np.float16)
    assert not padded[:, :, 3].any()
    tensor = vision.ToTensor()(IMAGE)
    np.testing.assert_allclose(tensor, chw / 255, atol=1e-7)
    np.testing.assert_array_equal(vision.ToTensor()(tensor.transpose(1, 2, 0)), tensor)
    assert vision.ToTensor(np.float16)(RAMP).shape == (1, 3, 4)
    assert vision.ToType(np.int32)(IMAGE).dtype == np.int32
    np.testing.assert_array_equal(np.asarray(vision.ToPIL()(IMAGE)), IMAGE)
    np.testing.assert_array_equal(vision.ToNumpy()(Image.fromarray(IMAGE)), IMAGE)
    for made in (scaled, normal, tensor):
        assert made.dtype == np.float32


def test_moving_pixels() -> None:
    np.testing.assert_array_equal(vision.HorizontalFlip()(RAMP), RAMP[:, ::-1])
    np.testing.assert_array_equal(vision.VerticalFlip()(RAMP), RAMP[::-1])
    np.testing.assert_array_equal(vision.Crop((1, 2), (2, 1))(RAMP), RAMP[1:, 2:3])
    np.testing.assert_array_equal(vision.CenterCrop((1, 2))(RAMP), RAMP[1:2, 1:3])
    np.testing.assert_array_equal(vision.CenterCrop((5, 4))(RAMP)[1:4], RAMP)
    np.testing.assert_array_equal(vision.Rotate(90, expand=True)(RAMP), np.rot90(RAMP))
    np.testing.assert_array_equal(vision.Rotate(180)(RAMP), RAMP[::-1, ::-1])
    square = RAMP[:, :3].copy()
    np.testing.assert_array_equal(vision.Affine(90, (0, 0), 1, 0)(square), np.rot90(square, -1))
    shifted = vision.Affine(0, (0.25, 0), 1, 0, fill_value=99)(RAMP)
    np.testing.assert_array_equal(shifted, np.hstack([np.full((3, 1), 99), RAMP[:, :3]]))
    corners = [[0, 0], [4, 0], [4, 3], [0, 3]]
    np.testing.assert_array_equal(vision.Perspective(corners, corners, Inter.NEAREST)(RAMP), RAMP)
    mirrored = [[4, 0], [0, 0], [0, 3], [4, 3]]
    flipped = vision.Perspective(corners, mirrored, Inter.NEAREST)(RAMP)
    np.testing.assert_array_equal(flipped, RAMP[:, ::-1])
    assert [crop.tolist() for crop in vision.FiveCrop(1)(RAMP)] == [
        [[0]],
        [[3]],
        [[8]],
        [[11]],
        [[5]],
    ]
    assert [int(crop[0, 0]) for crop in vision.TenCrop(1)(RAMP)][5:] == [3, 0, 11, 8, 6]
    patches = vision.SlicePatches(2, 2, fill_value=7)(RAMP)
    assert [patch.tolist() for patch in patches[2:]] == [[[8, 9], [7, 7]], [[10, 11], [7, 7]]]


@pytest.mark.parametrize("mode", list(Border))
def test_borders_are_numpys(mode: Border) -> None:
    extra = {"constant_values": 5} if mode is Border.CONSTANT else {}
    expected = np.pad(RAMP, ((2, 2), (1, 1)), mode.value, **extra)  # type: ignore[call-overload]
    np.testing.assert_array_equal(vision.Pad((1, 2), 5, mode)(RAMP), expected)
    coloured = vision.Pad(1, (1, 2, 3))(IMAGE)
    assert coloured[0, 0].tolist() == [1, 2, 3]


def test_sizes() -> None:
    assert vision.Resize(4)(IMAGE).shape == (4, 6, 3)
    assert vision.Resize(4)(IMAGE.transpose(1, 0, 2)).shape == (6, 4, 3)
    floats = np.array([[0.0, 1.0], [0.0, 1.0]], np.float32)
    wide = vision.Resize((2, 4))(floats)
    np.testing.assert_allclose(wide, [[0, 0.25, 0.75, 1]] * 2)
    assert vision.Resize((2, 4))(floats.astype(np.float16)).dtype == np.float16
    labels = np.array([[0, 300], [0, 300]], np.int32)
    kept = vision.Resize((4, 4), Inter.NEAREST)(labels)
    assert (kept.dtype, sorted(set(kept.ravel().tolist()))) == (np.int32, [0, 300])
    np.testing.assert_array_equal(vision.Resize((3, 4))(RAMP), RAMP)


def test_changing_colours() -> None:
    values = np.array([[0, 100, 200, 255]], np.uint8)
    assert vision.Invert()(values).tolist() == [[255, 155, 55, 0]]
    assert vision.Solarize((100, 200))(values).tolist() == [[0, 155, 55, 255]]
    assert vision.Solarize(200)(values).tolist() == [[0, 100, 55, 0]]
    assert vision.Solarize((200, 200))(values).tolist() == [[0, 100, 55, 0]]
    assert vision.Posterize(2)(values).tolist() == [[0, 64, 192, 192]]
    assert vision.AdjustGamma(2)(values).tolist() == [[0, 39, 157, 255]]
    assert vision.AdjustGamma(1, 0.5)(values / 255).max() == 0.5
    assert vision.AdjustBrightness(0.5)(values).tolist() == [[0, 50, 100, 127]]
    assert np.ptp(vision.AutoContrast()(values[:, 1:3])) >= 254  # Pillow rounds down
    pixel = np.array([[[200, 100, 50]]], np.uint8)
    assert vision.Grayscale()(pixel).tolist() == [[[124]]]  # 0.299, 0.587, 0.114
    assert vision.AdjustSaturation(0)(pixel).tolist() == [[[124, 124, 124]]]
    turned = vision.AdjustHue(0.5)(np.array([[[255, 0, 0]]], np.uint8))
    np.testing.assert_allclose(turned[0, 0], [0, 255, 255], atol=3)  # 256 hues
    assert vision.RgbToBgr()(pixel).tolist() == [[[50, 100, 200]]]
    assert vision.ConvertColor(ConvertMode.COLOR_BGR2GRAY)(pixel).tolist() == [[96]]
    assert vision.ConvertColor(ConvertMode.COLOR_RGB2RGBA)(pixel).tolist() == [
        [[200, 100, 50, 255]]
    ]
    assert vision.ConvertColor(ConvertMode.COLOR_GRAY2RGB)(values).shape == (1, 4, 3)
    flat = np.full((5, 5), 77, np.uint8)
    np.testing.assert_array_equal(vision.GaussianBlur((3, 5), 1.5)(flat), flat)
    spot = np.zeros((1, 3), np.float64)
    spot[0, 1] = 1
    weight = np.exp(-0.5)
    blurred = vision.GaussianBlur(3, 1.0)(np.pad(spot, ((1, 1), (1, 1))))
    np.testing.assert_allclose(blurred[1, 1] / blurred[1, 2], weight)
    colours = RNG.random((4, 5, 3), np.float32)
    hsv = vision.RgbToHsv(is_hwc=True)(colours)
    np.testing.assert_allclose(vision.HsvToRgb(is_hwc=True)(hsv), colours, atol=1e-6)
    matrix = np.diag([2.0, 3.0])
    whitened = vision.LinearTransformation(matrix, np.array([1.0, 1.0]))(np.array([[[2.0, 3.0]]]))
    assert whitened.tolist() == [[[2.0, 6.0]]]


def test_erasing() -> None:
    image = np.ones((3, 8, 8), np.float32)
    made = vision.RandomErasing(1.0, (0.2, 0.3), value=7)(image)
    share = (made == 7).mean()
    assert 0.1 < share < 0.4
    assert image.all()
    assert (made[0] == made[2]).all()
    for colours in ([1, 2, 3], np.array([1, 2, 3])):
        coloured = vision.RandomErasing(1.0, (0.2, 0.3), value=colours)(image)
        assert {tuple(pixel) for pixel in coloured.reshape(3, -1).T} >= {(1, 2, 3)}
    random = vision.RandomErasing(1.0, value="random")(image)
    assert len(np.unique(random)) > 5
    assert vision.RandomErasing(0.0)(image) is image
    hole = vision.Erase(0, 0, 2, 2, (1, 2, 3))(IMAGE)
    assert hole[1, 1].tolist() == [1, 2, 3]
    np.testing.assert_array_equal(hole[2:], IMAGE[2:])


# chance


def test_chances_and_limits_are_kept() -> None:
    cw.set_seed(0)
    flips = [vision.RandomHorizontalFlip(0.3)(RAMP)[0, 0] == 3 for _ in range(400)]
    assert 85 < sum(flips) < 155  # expected 120, deviation 9.2
    crops = {int(vision.RandomCrop(2)(RAMP)[0, 0]) for _ in range(80)}
    assert crops == {0, 1, 2, 4, 5, 6}
    for op in (vision.RandomCrop(5, pad_if_needed=True), vision.RandomResizedCrop(5)):
        assert op(RAMP).shape == (5, 5)
    never = vision.RandomRotation((0, 0)), vision.RandomPosterize(), vision.RandomColorAdjust()
    for op in never:
        np.testing.assert_array_equal(op(IMAGE), IMAGE)
    assert vision.RandomGrayscale(0.0)(IMAGE) is IMAGE
    lit = vision.RandomLighting(0.1)(np.full((1, 1, 3), 100, np.uint8))
    assert len(set(lit[0, 0].tolist())) > 1


def test_transforms_made_of_others() -> None:
    cw.set_seed(0)
    add, double = (lambda x: x + 1), (lambda x: x * 2)
    assert transforms.Compose([add, double])(3) == 8
    assert {transforms.RandomChoice([add, double])(3) for _ in range(20)} == {4, 6}
    assert {transforms.RandomOrder([add, double])(3) for _ in range(20)} == {7, 8}
    assert {transforms.RandomApply([add, double], 0.5)(3) for _ in range(20)} == {3, 8}
    assert {vision.UniformAugment([add, double], 1)(3) for _ in range(30)} == {3, 4, 6}
    policy = [[(add, 1.0), (double, 0.0)], [(double, 1.0)]]
    assert {vision.RandomSelectSubpolicy(policy)(3) for _ in range(20)} == {4, 6}
    steps = transforms.Compose([vision.Rescale(2, 0), vision.HWC2CHW()])
    assert steps.takes_blocks
    np.testing.assert_array_equal(steps.block(IMAGE[None])[0], steps(IMAGE))


def test_batches_are_mixed_with_their_labels() -> None:
    cw.set_seed(0)
    images = np.repeat(np.arange(6, dtype=np.uint8), 64).reshape(6, 8, 8, 1)
    data = ds.NumpySlicesDataset({"image": images, "label": np.arange(6)}, shuffle=False)
    data = data.map(transforms.OneHot(6), "label").batch(6)
    both = ["image", "label"]
    mixed, labels = next(iter(data.map(vision.MixUpBatch(0.4), both)))
    np.testing.assert_allclose(labels.asnumpy().sum(1), 1, rtol=1e-6)
    expected = labels.asnumpy() @ np.arange(6)
    np.testing.assert_allclose(mixed.asnumpy()[:, 0, 0, 0], expected, rtol=1e-5)
    cut, labels = next(iter(data.map(vision.CutMixBatch(ImageBatchFormat.NHWC), both)))
    assert cut.dtype is cw.uint8
    pixels = cut.asnumpy().reshape(6, 64)
    shares = np.stack([np.bincount(row, minlength=6) / 64 for row in pixels])
    np.testing.assert_allclose(labels.asnumpy(), shares, atol=1e-6)
    assert (shares.max(1) < 1).any()
    with pytest.raises(ds.RowError, match=r"labels must be one-hot, N×classes, not \(6,\)"):
        list(ds.NumpySlicesDataset((images, np.arange(6))).batch(6).map(
            vision.MixUpBatch(), ["column_0", "column_1"]
        ))  # fmt: skip


# files


def test_image_files(tmp_path: Path) -> None:
    png, jpeg = tmp_path / "a.png", tmp_path / "b.jpg"
    vision.write_png(str(png), IMAGE)
    vision.write_jpeg(jpeg, np.full((8, 8, 3), 90, np.uint8), 95)
    np.testing.assert_array_equal(vision.read_image(png), IMAGE)
    assert vision.read_image(png, vision.ImageReadMode.GRAYSCALE).shape == (8, 12, 1)
    assert np.abs(vision.read_image(jpeg).astype(int) - 90).max() < 3
    np.testing.assert_array_equal(vision.Decode()(vision.read_file(png)), IMAGE)
    vision.write_file(tmp_path / "c", vision.encode_png(RAMP))
    assert vision.read_image(tmp_path / "c")[:, :, 0].tolist() == RAMP.tolist()
    assert vision.get_image_size(IMAGE) == [8, 12]
    assert vision.get_image_num_channels(IMAGE) == 3
    with pytest.raises(ds.DataError, match=r"none.png cannot be read"):
        vision.read_image(tmp_path / "none.png")


# mistakes


@pytest.mark.parametrize(
    ("make", "text"),
    [
        (lambda: vision.Resize(0), "Resize: size must be positive"),
        (lambda: vision.Resize("4"), "size must be an int or"),
        (lambda: vision.Resize(4, 2), "interpolation must be an Inter"),
        (lambda: vision.Resize(4)(np.zeros(5, np.uint8)), r".*\(5,\)\. Decode it first"),
        (lambda: vision.Resize(4)([1, 2]), "not list"),
        (lambda: vision.Resize(4)(np.zeros((0, 3), np.uint8)), "the image is empty"),
        (lambda: vision.Pad(-1), "must not be negative"),
        (lambda: vision.Pad(1, 256), "fill_value must be in 0..255"),
        (lambda: vision.Pad(5, 0, Border.REFLECT)(RAMP), "cannot be reflected over 5 pixels"),
        (lambda: vision.Crop((2, 0), 3)(RAMP), "3×3 from row 2, column 0 reaches beyond"),
        (lambda: vision.RandomCrop(5)(RAMP), "does not fit into the image of 3×4; set pad_if"),
        (lambda: vision.RandomHorizontalFlip(1.5), "prob must be in 0..1"),
        (lambda: vision.RandomColorAdjust(hue=0.7), "hue must be"),
        (lambda: vision.RandomRotation(-3), "must not be negative"),
        (lambda: vision.Rotate(3, Inter.AREA)(RAMP), "use Inter.NEAREST, LINEAR or CUBIC"),
        (lambda: vision.Normalize([1], [1, 2]), "1 means, but 2 deviations"),
        (lambda: vision.Normalize([1], [0]), "std must be above zero"),
        (lambda: vision.Normalize([1, 2], [1, 2])(IMAGE), "2 means for 3 channels .* see is_hwc"),
        (lambda: vision.HWC2CHW()(np.zeros(3)), "2 or 3 axes, this has 1"),
        (lambda: vision.AdjustContrast(1)(IMAGE / 255), "uint8 in 0..255, this is float64. Use it"),
        (lambda: vision.Invert()(IMAGE.astype(np.float32)), "Invert: needs an image of uint8"),
        (lambda: vision.GaussianBlur(2), "kernel_size must be odd"),
        (lambda: vision.Perspective([[0, 0]] * 4, [[0, 0]] * 4), "lie on a line"),
        (lambda: vision.UniformAugment([abs], 2), "2 of 1 transforms"),
        (lambda: vision.RandomErasing()(RAMP), "needs an array C×H×W"),
        (lambda: transforms.OneHot(3)(np.array(3)), "label 3 is outside 0..2"),
        (lambda: transforms.OneHot(3)(np.array(1.0)), "labels must be integers"),
        (lambda: transforms.PadEnd([2])(np.ones(3)), r"shape \(3,\) does not fit into \(2,\)"),
        (lambda: transforms.PadEnd([4], 0.5)(np.ones(3, int)), "0.5 does not fit into int64"),
        (lambda: transforms.PadEnd([4], "a")(np.ones(3)), "'a' does not go into an array of"),
        (lambda: transforms.Fill(300)(np.ones(3, np.uint8)), "Fill: 300 does not fit into uint8"),
        (lambda: transforms.Fill(1)(np.array(["a"])), "1 does not go into text"),
        (lambda: transforms.Compose([]), "at least one transform"),
        (lambda: transforms.Slice(0, 0)(np.ones(3)), "2 slices for 1 axes"),
        (lambda: transforms.TypeCast("nothing"), "no element type"),
    ],
)  # fmt: skip
def test_mistakes_are_named(make: Callable[[], object], text: str) -> None:
    with pytest.raises((ValueError, TypeError, IndexError), match=text):
        make()


# transforms of any data


def test_transforms_of_arrays() -> None:
    assert transforms.TypeCast(cw.int32)(np.float32(2.7)) == 2
    assert transforms.OneHot(3)(np.array(1)).tolist() == [0, 1, 0]
    np.testing.assert_allclose(transforms.OneHot(2, 0.2)(np.array([0])), [0.9, 0.1], rtol=1e-6)
    assert transforms.Fill(3)(np.ones((2,), np.float16)).tolist() == [3, 3]
    assert transforms.Fill("x")(np.array(["a", "b"])).tolist() == ["x", "x"]
    assert transforms.PadEnd([3, None], -1)(np.ones((1, 2), int)).tolist() == [
        [1, 1],
        [-1, -1],
        [-1, -1],
    ]
    assert transforms.PadEnd([2])(np.array(["a"])).tolist() == ["a", ""]
    joined = transforms.Concatenate(0, np.array([0]), np.array([9]))
    assert joined(np.array([1]), np.array([2])).tolist() == [0, 1, 2, 9]
    one, two = transforms.Duplicate()(RAMP)
    assert one is not two
    mask = transforms.Mask(transforms.RelationalOp.GE, 2)
    assert mask(np.array([1, 2, 3])).tolist() == [False, True, True]
    assert (
        transforms.Mask(transforms.RelationalOp.NE, 2, cw.int32)(np.array([2, 3])).dtype == np.int32
    )
    assert transforms.Slice([0, 2])(RAMP[0]).tolist() == [0, 2]
    assert transforms.Slice(slice(1, 3), 1)(RAMP).tolist() == [[5], [9]]
    assert transforms.Slice(Ellipsis, slice(0, 1))(RAMP).tolist() == [[0], [4], [8]]
    values, places, counts = transforms.Unique()(np.array([4, 1, 4]))
    assert (values.tolist(), places.tolist(), counts.tolist()) == ([4, 1], [0, 1, 0], [2, 1])
    assert repr(transforms.PadEnd([2], 0)) == "PadEnd(pad_shape=[2], pad_value=0)"


def test_old_paths_name_the_same() -> None:
    import cellwire.dataset.transforms.c_transforms as old_transforms
    import cellwire.dataset.vision.c_transforms as old_vision
    from cellwire.dataset.transforms import py_transforms
    from cellwire.dataset.vision import py_transforms as old_pillow
    from cellwire.dataset.vision.utils import Inter as OldInter

    assert old_vision.Resize is old_pillow.Resize is vision.Resize
    assert old_transforms.OneHot is py_transforms.OneHot is transforms.OneHot
    assert OldInter is Inter
    with pytest.raises(AttributeError, match="Nothing"):
        _ = old_pillow.Nothing
