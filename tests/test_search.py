"""The search ranks what one means first, and works by keys alone."""

from __future__ import annotations

import pytest
from cellwire.app.search import Entry, SearchPopup, node_entries, rank
from cellwire.app.state import EditorState
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QWidget
from pytestqt.qtbot import QtBot


@pytest.fixture
def state(desktop: object) -> EditorState:
    return EditorState()


@pytest.mark.parametrize(
    ("query", "best"),
    [
        ("dense", "Dense"),
        ("Dense", "Dense"),
        ("conv", "Conv2d"),
        ("cnov2d", "Conv2d"),
        ("crossent", "CrossEntropyLoss"),
        ("layer norm", "LayerNorm"),
        ("digits", "Digits"),
        ("dropot", "Dropout"),
        ("Linear", "Dense"),
        ("fc", "Dense"),
        ("relu", "ReLU"),
        ("batchnorm2d", "BatchNorm2d"),
        ("batch normalization", "BatchNorm1d"),
        ("maxpool", "MaxPool2d"),
        ("cat", "Concat"),
        ("view", "Reshape"),
        ("permute", "Transpose"),
        ("arccos", "ACos"),
        ("unsqueeze", "ExpandDims"),
        ("BinaryCrossEntropy", "BinaryCrossEntropy"),
        ("lstm", "LSTM"),
        ("attention", "MultiheadAttention"),
        ("add", "Add"),
        ("mse", "MSELoss"),
    ],
)
def test_the_best_hit_is_what_one_means(state: EditorState, query: str, best: str) -> None:
    assert rank(node_entries(state), query)[0].title == best


def test_nothing_is_found_for_nonsense(state: EditorState) -> None:
    assert rank(node_entries(state), "qqqqqqqq") == []


def test_every_kind_of_node_is_an_entry(state: EditorState) -> None:
    assert {entry.type for entry in node_entries(state)} == set(state.library)


def make(title: str, *, enabled: bool = True) -> Entry:
    return Entry(title, "", "Action", title, lambda _: None, enabled)


def test_keys_choose_an_entry(desktop: object, qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    popup = SearchPopup(owner, [make("Run"), make("Redo"), make("Quit")])
    chosen: list[str] = []
    popup.chosen.connect(lambda entry: chosen.append(entry.title))
    popup.show()
    qtbot.keyClicks(popup.field, "r")
    qtbot.keyClick(popup.field, Qt.Key.Key_Down)
    qtbot.keyClick(popup.field, Qt.Key.Key_Up)
    first = popup.entries()[0].title
    qtbot.keyClick(popup.field, Qt.Key.Key_Return)
    assert chosen == [first]


def test_escape_closes_without_a_choice(desktop: object, qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    popup = SearchPopup(owner, [make("Run")])
    chosen: list[object] = []
    popup.chosen.connect(chosen.append)
    popup.show()
    with qtbot.waitSignal(popup.closed):
        qtbot.keyClick(popup.field, Qt.Key.Key_Escape)
    assert chosen == []


def test_actions_that_cannot_be_used_now_are_not_listed(desktop: object, qtbot: QtBot) -> None:
    owner = QWidget()
    qtbot.addWidget(owner)
    popup = SearchPopup(owner, [make("Run"), make("Stop", enabled=False)])
    qtbot.addWidget(popup)
    assert [entry.title for entry in popup.entries()] == ["Run"]
