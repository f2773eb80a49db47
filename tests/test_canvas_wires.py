"""Wires drawn, moved, refused and given up on the canvas."""

from __future__ import annotations

from canvas_hand import LEFT, NONE, Hand
from cellwire.app.search import SearchPopup
from cellwire.nodes import changes as c
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QToolTip
from pytestqt.qtbot import QtBot


def test_a_wire_is_drawn_from_port_to_port(hand: Hand) -> None:
    hand.drag(hand.output("scale"), hand.input("flatten", "x"))
    assert hand.state.document.edges["flatten", "x"].source == "scale"
    hand.state.undo_stack.undo()
    assert ("flatten", "x") not in hand.state.document.edges


def test_a_wire_can_be_drawn_backwards_from_an_input(hand: Hand) -> None:
    hand.drag(hand.input("flatten", "x"), hand.output("scale"))
    assert hand.state.document.edges["flatten", "x"].source == "scale"


def test_a_wire_dropped_on_a_card_takes_its_free_input(hand: Hand) -> None:
    hand.drag(hand.output("scale"), hand.card("flatten"))
    assert hand.state.document.edges["flatten", "x"].source == "scale"


def test_a_wire_that_would_make_a_cycle_is_refused_with_the_reason(hand: Hand) -> None:
    hand.drag(hand.output("scale"), hand.input("flatten", "x"))
    hand.drag(hand.output("flatten"), hand.input("scale", "input"), drop=False)
    assert "cycle" in QToolTip.text()
    QTest.mouseRelease(hand.view.viewport(), LEFT, NONE, hand.place(hand.input("scale", "input")))
    assert hand.state.document.edges["scale", "input"].source == "digits"
    assert "cycle" in hand.state.log[-1].message


def test_a_wire_whose_shapes_do_not_fit_is_refused(hand: Hand) -> None:
    hand.drag(hand.output("digits", "images"), hand.input("loss", "labels"))
    hand.state.infer_now()
    hand.drag(hand.output("scale"), hand.input("loss", "logits"))
    refused = [line for line in hand.state.log if line.level == "warning"]
    assert refused
    assert len(hand.state.document.edges) < 3


def test_a_wire_pulled_off_its_input_is_removed(hand: Hand) -> None:
    start = hand.input("scale", "input")
    hand.drag(start, start + QPointF(-60.0, 120.0))
    assert hand.state.document.edges == {}
    hand.state.undo_stack.undo()
    assert ("scale", "input") in hand.state.document.edges


def test_a_wire_is_moved_to_another_input_in_one_step(hand: Hand) -> None:
    hand.drag(hand.input("scale", "input"), hand.input("flatten", "x"))
    assert set(hand.state.document.edges) == {("flatten", "x")}
    hand.state.undo_stack.undo()
    assert set(hand.state.document.edges) == {("scale", "input")}


def test_escape_gives_a_wire_up(hand: Hand) -> None:
    hand.drag(hand.output("scale"), hand.input("flatten", "x"), drop=False)
    hand.key(Qt.Key.Key_Escape)
    QTest.mouseRelease(hand.view.viewport(), LEFT, NONE, hand.place(hand.input("flatten", "x")))
    assert set(hand.state.document.edges) == {("scale", "input")}


def test_a_wire_dropped_on_the_sheet_searches_for_what_fits(hand: Hand, qtbot: QtBot) -> None:
    hand.drag(hand.output("scale"), QPointF(560.0, 140.0))
    popup = hand.view.findChild(SearchPopup)
    assert "Digits" not in {entry.title for entry in popup.entries()}
    qtbot.keyClicks(popup.field, "flatten")
    qtbot.keyClick(popup.field, Qt.Key.Key_Return)
    (new,) = hand.nodes
    assert hand.state.document.edges_into(new)[0].source == "scale"
    hand.state.undo_stack.undo()
    assert new not in hand.state.document.nodes


def test_a_wire_being_drawn_ends_when_its_node_goes(hand: Hand) -> None:
    hand.drag(hand.output("flatten"), hand.output("flatten") + QPointF(60.0, 60.0), drop=False)
    hand.state.perform(c.RemoveNode("flatten"))
    hand.move(QPointF(300.0, 300.0))
    hand.view.grab()
    assert not hand.view.findChildren(SearchPopup)


def test_a_wire_in_the_hand_is_shown_again_when_the_drawing_changes(hand: Hand) -> None:
    hand.drag(hand.input("scale", "input"), QPointF(300.0, 300.0), drop=False)
    hand.state.perform(c.RemoveNode("relu"))
    assert not hand.view.canvas.edges["scale", "input"].hidden
    assert ("scale", "input") in hand.state.document.edges
