"""What a probe shows of an array: statistics, histogram, heat map, image grid, table."""

import msgspec
import numpy as np
import pytest
from cellwire.engine.run.inspect import (
    SliceError,
    heat_map,
    histogram,
    image_grid,
    parse_slice,
    statistics,
    table,
)


def test_statistics_of_floats() -> None:
    stats = statistics(np.array([[0, -4], [1, 3]], np.float32))
    assert (stats.shape, stats.dtype, stats.size) == ((2, 2), "float32", 4)
    assert (stats.mean, stats.min, stats.max, stats.absmax) == (0.0, -4.0, 3.0, 4.0)
    assert stats.std == pytest.approx(np.sqrt(6.5))
    assert (stats.zeros, stats.nan, stats.inf) == (25.0, 0, 0)


def test_statistics_count_nan_and_inf_and_take_the_mean_of_the_rest() -> None:
    stats = statistics(np.array([np.nan, np.inf, -np.inf, 2, 4]))
    assert (stats.nan, stats.inf, stats.mean, stats.std) == (1, 2, 3.0, 1.0)
    assert (stats.min, stats.max, stats.absmax) == (-np.inf, np.inf, np.inf)


@pytest.mark.parametrize(
    ("array", "mean", "absmax"),
    [
        (np.array([], np.float32), None, None),
        (np.array([np.nan, np.nan], np.float16), None, None),
        (np.array([np.inf], np.float32), None, np.inf),
        (np.array([True, False]), 0.5, 1.0),
        (np.array([-128, 0], np.int8), -64.0, 128.0),
        (np.array(7, np.int64), 7.0, 7.0),
        (np.full(4, 60000, np.float16), 60000.0, 60000.0),
        (np.full(4, 3e38, np.float32), pytest.approx(3e38), pytest.approx(3e38)),
    ],
)
def test_statistics_hold_for_any_array(
    array: np.ndarray, mean: float | None, absmax: float | None
) -> None:
    stats = statistics(array)
    assert (stats.mean, stats.absmax) == (mean, absmax)
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(stats), type=type(stats)) == stats


def test_histogram_counts_every_finite_element_once() -> None:
    array = np.concatenate([np.linspace(-1, 1, 1000), [500.0, -700.0, np.nan, np.inf]])
    counted = histogram(array, 20)
    assert sum(counted.counts) == 1000
    assert (counted.below, counted.above, counted.nan, counted.inf) == (1, 1, 1, 1)
    assert -10 < counted.low < counted.high < 10


@pytest.mark.parametrize("array", [np.zeros(5), np.array([]), np.array([1, 2, 2], np.uint8)])
def test_histogram_of_flat_empty_and_integer_arrays(array: np.ndarray) -> None:
    counted = histogram(array, 4)
    assert len(counted.counts) == 4
    assert sum(counted.counts) == array.size


def test_histogram_of_mostly_zeros_shows_the_whole_range() -> None:
    counted = histogram(np.array([0.0] * 90 + [5.0] * 10), 5)
    assert (counted.low, counted.high, counted.counts) == (0.0, 5.0, [90, 0, 0, 0, 10])


@pytest.mark.parametrize(
    ("text", "index"),
    [
        ("", (slice(None),) * 3),
        ("0, :, 3", (0, slice(None), 3)),
        ("1:3", (slice(1, 3), slice(None), slice(None))),
        ("..., -1", (slice(None), slice(None), -1)),
        ("::2, 1:, :-1", (slice(None, None, 2), slice(1, None), slice(None, -1))),
    ],
)
def test_slice_text(text: str, index: tuple[int | slice, ...]) -> None:
    assert parse_slice(text, (4, 5, 6)) == index


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("4", "index 4 is outside axis 0, which has size 4"),
        ("0, 0, 0, 0", "names 4 axes, but the tensor has 3"),
        ("a", "'a' in 'a' is no index"),
        ("0,,1", "'' in '0,,1' is no index"),
        ("::0", "step in '::0' is zero"),
        ("..., ...", "more than one '...'"),
        ("1 2", "is no index"),
    ],
)
def test_slice_errors_name_the_part(text: str, problem: str) -> None:
    with pytest.raises(SliceError, match=problem.replace("(", r"\(").replace("...", r"\.\.\.")):
        parse_slice(text, (4, 5, 6))


def test_heat_map_takes_means_of_blocks_and_keeps_nan_visible() -> None:
    array = np.arange(16, dtype=np.float64).reshape(4, 4)
    small = heat_map(array, side=2)
    values = np.frombuffer(small.values, np.float32).reshape(small.rows, small.columns)
    np.testing.assert_array_equal(values, [[2.5, 4.5], [10.5, 12.5]])
    array[0, 0] = np.nan
    small = heat_map(array, side=2)
    values = np.frombuffer(small.values, np.float32).reshape(2, 2)
    assert np.isnan(values[0, 0])
    assert (small.low, small.high) == (4.5, 12.5)


@pytest.mark.parametrize(
    ("array", "text", "rows", "columns"),
    [
        (np.array(3.0), "", 1, 1),
        (np.arange(5), "", 1, 5),
        (np.ones((2, 3, 4)), "", 6, 4),
        (np.ones((2, 3, 4)), "0, :, 1", 1, 3),
        (np.ones((100, 70)), "", 64, 64),
        (np.zeros((0, 4)), "", 0, 4),
    ],
)
def test_heat_map_of_any_shape(array: np.ndarray, text: str, rows: int, columns: int) -> None:
    small = heat_map(array, text)
    assert (small.rows, small.columns) == (rows, columns)


def test_image_grid_puts_gray_images_side_by_side() -> None:
    images = np.zeros((2, 1, 2, 2), np.uint8)
    images[1] = 16
    grid = image_grid(images)
    sheet = np.frombuffer(grid.pixels, np.uint8).reshape(grid.height, grid.width, grid.channels)
    np.testing.assert_array_equal(sheet[:, :, 0], [[0, 0, 0, 255, 255]] * 2)
    assert (grid.tiles, grid.low, grid.high) == (2, 0.0, 16.0)


def test_image_grid_shows_colour_and_feature_channels() -> None:
    assert image_grid(np.ones((5, 3, 4, 4))).channels == 3
    features = image_grid(np.ones((2, 8, 4, 4)), tiles=10)
    assert (features.channels, features.tiles) == (1, 10)


@pytest.mark.parametrize("shape", [(3,), (0, 1, 2, 2), (1, 1, 1, 1, 1)])
def test_image_grid_says_what_it_needs(shape: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match="N×C×H×W"):
        image_grid(np.zeros(shape))


def test_table_gives_one_page_with_row_labels() -> None:
    page = table(np.arange(24, dtype=np.float32).reshape(2, 3, 4), row=2, column=1, rows=2)
    assert page.cells == [["9", "10", "11"], ["13", "14", "15"]]
    assert page.row_labels == ["0, 2", "1, 0"]
    assert (page.rows, page.columns, page.shape) == (6, 4, (2, 3, 4))


def test_table_of_a_slice_and_of_a_scalar() -> None:
    assert table(np.array([[1.5, np.nan]]), "0").cells == [["1.5", "nan"]]
    assert table(np.array(True)).cells == [["True"]]
