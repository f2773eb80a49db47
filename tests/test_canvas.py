"""The canvas by mouse and keys: drawing, selecting, editing, breakpoints."""

from __future__ import annotations

from canvas_hand import CONTROL, LEFT, NONE, SHIFT, Hand
from cellwire.app import theme
from cellwire.app.canvas import geometry, menus
from cellwire.app.canvas.hits import Hit, hit
from cellwire.app.canvas.inline import InlineEdit
from cellwire.app.search import SearchPopup
from cellwire.app.state import Selection
from cellwire.nodes import changes as c
from cellwire.nodes.items import Edge, Frame, NodeItem, Note
from PySide6.QtCore import QPointF, Qt
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

# drawing


def test_items_follow_the_document(hand: Hand) -> None:
    assert hand.view.canvas.nodes.keys() == hand.state.document.nodes.keys()
    hand.state.perform(c.RemoveNode("scale"))
    assert "scale" not in hand.view.canvas.nodes
    assert hand.view.canvas.edges == {}
    hand.state.undo_stack.undo()
    assert ("scale", "input") in hand.view.canvas.edges


def test_wires_say_shapes_and_where_the_dtype_changes(hand: Hand) -> None:
    hand.state.perform(c.Connect(Edge("scale", "out", "flatten", "x")))
    hand.state.infer_now()
    wires = hand.view.canvas.edges
    assert wires["scale", "input"].wire.label == "N×1×8×8 u8"
    assert wires["flatten", "x"].wire.label == "N×1×8×8 f32"


def test_an_error_is_written_under_its_node(hand: Hand) -> None:
    assert "not connected" in hand.view.canvas.nodes["flatten"].look.error
    assert hand.view.canvas.nodes["digits"].look.error == ""


def test_unknown_nodes_are_shown_with_the_ports_that_wires_use(hand: Hand) -> None:
    hand.state.perform(
        c.AddNode(NodeItem(id="new", type="nn.Future", name="new", position=(260.0, 240.0)))
    )
    hand.state.perform(c.Connect(Edge("digits", "images", "new", "stream")))
    look = hand.view.canvas.nodes["new"].look
    assert look.summary == "unknown: nn.Future"
    assert list(look.card.inputs) == ["stream"]


# selecting and moving


def test_a_click_selects_and_shift_adds(hand: Hand) -> None:
    hand.click(hand.card("digits"))
    assert hand.nodes == {"digits"}
    hand.click(hand.card("scale"), SHIFT)
    assert hand.nodes == {"digits", "scale"}
    hand.click(hand.card("digits"), CONTROL)
    assert hand.nodes == {"scale"}
    hand.click(QPointF(400.0, 300.0))
    assert hand.nodes == set()


def test_a_rubber_band_selects_what_it_touches(hand: Hand) -> None:
    hand.drag(QPointF(-20.0, -20.0), QPointF(300.0, 90.0))
    assert hand.nodes == {"digits", "scale"}
    hand.drag(QPointF(-20.0, 220.0), QPointF(60.0, 260.0), SHIFT)
    assert hand.nodes == {"digits", "scale", "relu"}


def test_a_drag_moves_the_selection_as_one_step(hand: Hand) -> None:
    hand.state.select(Selection(nodes=frozenset({"digits", "scale"})))
    changes: list[object] = []
    hand.state.document_changed.connect(changes.append)
    hand.drag(hand.card("digits"), hand.card("digits") + QPointF(30.0, 40.0))
    assert hand.state.document.nodes["scale"].position == (290.0, 40.0)
    assert len(changes) == 1
    hand.state.undo_stack.undo()
    assert hand.state.document.nodes["digits"].position == (0.0, 0.0)
    assert hand.view.canvas.nodes["digits"].pos() == QPointF()


def test_escape_gives_a_move_up(hand: Hand) -> None:
    hand.drag(hand.card("scale"), hand.card("scale") + QPointF(50.0, 50.0), drop=False)
    hand.key(Qt.Key.Key_Escape)
    assert hand.view.canvas.nodes["scale"].pos() == QPointF(260.0, 0.0)
    assert hand.state.undo_stack.count() == 0


def test_arrow_keys_move_the_selection_and_undo_as_one(hand: Hand) -> None:
    hand.state.select(Selection(nodes=frozenset({"relu"})))
    for _ in range(3):
        hand.key(Qt.Key.Key_Right)
    hand.key(Qt.Key.Key_Down, SHIFT)
    assert hand.state.document.nodes["relu"].position == (30.0, 290.0)
    hand.state.undo_stack.undo()
    assert hand.state.document.nodes["relu"].position == (0.0, 240.0)


def test_a_free_node_dropped_on_a_wire_is_put_into_it(hand: Hand) -> None:
    key = ("scale", "input")
    middle = hand.view.canvas.edges[key].route.middle
    frame = hand.view.canvas.nodes["relu"].frame
    grip = hand.card("relu")
    hand.state.perform(c.MoveNodes({"scale": (520.0, 300.0)}))
    middle = hand.view.canvas.edges[key].route.middle
    hand.drag(grip, grip + middle - frame.center())
    document = hand.state.document
    assert document.edges[key].source == "relu"
    assert document.edges_into("relu")[0].source == "digits"
    hand.state.undo_stack.undo()
    assert document.edges[key].source == "digits"
    assert document.nodes["relu"].position == (0.0, 240.0)


def test_a_new_node_dropped_on_a_wire_is_put_into_it_as_one_step(hand: Hand) -> None:
    hand.state.perform(c.MoveNodes({"scale": (520.0, 300.0)}))
    middle = hand.view.canvas.edges["scale", "input"].route.middle
    hand.view.editor.add_node("nn.ReLU", middle - QPointF(60.0, 37.0))
    (new,) = hand.nodes
    assert hand.state.document.edges["scale", "input"].source == new
    hand.state.undo_stack.undo()
    assert new not in hand.state.document.nodes
    assert hand.state.document.edges["scale", "input"].source == "digits"


def test_wires_go_around_cards_also_after_a_drag(hand: Hand) -> None:
    hand.state.perform(c.Connect(Edge("digits", "labels", "loss", "labels")))
    hand.state.perform(c.MoveNodes({"loss": (780.0, -20.0)}))
    hand.drag(hand.card("relu"), hand.card("relu") + QPointF(0.0, 40.0))
    route = hand.view.canvas.edges["loss", "labels"].route.path
    cards = [hand.view.canvas.nodes[id].frame for id in ("scale", "flatten")]
    points = [route.pointAtPercent(step / 40) for step in range(41)]
    assert not any(card.contains(point) for card in cards for point in points)


def test_moving_a_frame_takes_what_lies_in_it(hand: Hand) -> None:
    frame = Frame(id="frame", title="in", rect=(-40.0, 180.0, 240.0, 180.0))
    hand.state.perform(c.AddFrame(frame))
    hand.drag(QPointF(100.0, 192.0), QPointF(140.0, 232.0))
    assert hand.state.document.frames["frame"].rect == (0.0, 220.0, 240.0, 180.0)
    assert hand.state.document.nodes["relu"].position == (40.0, 280.0)
    hand.state.undo_stack.undo()
    assert hand.state.document.nodes["relu"].position == (0.0, 240.0)


def test_a_note_is_resized_by_its_corner(hand: Hand) -> None:
    hand.state.perform(c.AddNote(Note(id="note", rect=(300.0, 200.0, 100.0, 80.0))))
    hand.drag(QPointF(394.0, 274.0), QPointF(434.0, 304.0))
    assert hand.state.document.notes["note"].rect == (300.0, 200.0, 140.0, 110.0)


# editing


def test_delete_and_undo_and_redo(hand: Hand) -> None:
    hand.state.select(Selection(nodes=frozenset({"digits", "relu"})))
    hand.view.editor.delete_selection()
    assert set(hand.state.document.nodes) == {"scale", "flatten", "loss"}
    hand.state.undo_stack.undo()
    assert ("scale", "input") in hand.state.document.edges
    hand.state.undo_stack.redo()
    assert hand.state.document.edges == {}


def test_deleting_a_wire_keeps_its_nodes(hand: Hand) -> None:
    hand.state.select(Selection(edges=frozenset({("scale", "input")})))
    hand.view.editor.delete_selection()
    assert len(hand.state.document.nodes) == 5
    assert hand.state.document.edges == {}


def test_copy_and_paste_at_the_pointer_in_one_step(hand: Hand) -> None:
    hand.state.select(Selection(nodes=frozenset({"digits", "scale"})))
    hand.view.editor.copy()
    hand.view.editor.paste()
    assert len(hand.state.document.nodes) == 7
    assert len(hand.state.document.edges) == 2
    assert len(hand.nodes) == 2
    assert hand.nodes.isdisjoint({"digits", "scale"})
    hand.state.undo_stack.undo()
    assert len(hand.state.document.nodes) == 5


def test_cut_and_paste_keeps_the_names(hand: Hand) -> None:
    hand.state.select(Selection(nodes=frozenset({"relu"})))
    hand.view.editor.cut()
    assert hand.state.document.node_named("relu") is None
    hand.view.editor.paste()
    assert hand.state.document.node_named("relu") is not None


def test_duplicate_makes_new_nodes_beside_the_old(hand: Hand) -> None:
    hand.state.select(Selection(nodes=frozenset({"digits", "scale"})))
    hand.view.editor.duplicate()
    (copied,) = (
        hand.state.document.nodes[id]
        for id in hand.nodes
        if "digits" in hand.state.document.nodes[id].type
    )
    assert copied.position == (40.0, 40.0)


def test_pasting_text_that_is_no_drawing_does_nothing(hand: Hand) -> None:
    QApplication.clipboard().setText("hello")
    hand.view.editor.paste()
    assert hand.state.undo_stack.count() == 0


def test_renaming_where_the_name_stands(hand: Hand, qtbot: QtBot) -> None:
    QTest.mouseDClick(hand.view.viewport(), LEFT, NONE, hand.place(hand.card("relu")))
    edit = hand.view.findChild(InlineEdit)
    assert edit.text() == "relu"
    edit.selectAll()
    qtbot.keyClicks(edit, "gate")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert hand.state.document.nodes["relu"].name == "gate"


def test_a_name_that_is_taken_is_refused_and_can_be_given_up(hand: Hand, qtbot: QtBot) -> None:
    hand.view.asking.rename_node("relu")
    edit = hand.view.findChild(InlineEdit)
    edit.setText("scale")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert "scale" in edit.toolTip()
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert hand.state.document.nodes["relu"].name == "relu"


def test_a_node_added_by_search_has_a_free_name(hand: Hand, qtbot: QtBot) -> None:
    hand.move(QPointF(500.0, 300.0))
    hand.view.asking.search_here()
    popup = hand.view.findChild(SearchPopup)
    qtbot.keyClicks(popup.field, "dense")
    qtbot.keyClick(popup.field, Qt.Key.Key_Return)
    (new,) = hand.nodes
    assert hand.state.document.nodes[new].name == "dense1"


# breakpoints


def test_a_click_on_a_wire_sets_and_removes_a_breakpoint(hand: Hand) -> None:
    key = ("scale", "input")
    hand.click(hand.wire(key))
    assert (*key, "forward") in hand.state.document.breakpoints
    assert hand.state.focus == key
    hand.click(hand.view.canvas.edges[key].mark_at("breakpoint"))
    assert hand.state.document.breakpoints == {}
    hand.state.undo_stack.undo()
    assert (*key, "forward") in hand.state.document.breakpoints


def test_a_click_on_a_label_looks_at_the_wire_and_sets_nothing(hand: Hand) -> None:
    key = ("scale", "input")
    hand.click(hand.view.canvas.edges[key].pill.center())
    assert hand.state.focus == key
    assert hand.state.document.breakpoints == {}


def test_a_condition_is_parsed_before_it_is_taken(hand: Hand, qtbot: QtBot) -> None:
    key = ("scale", "input")
    hand.view.asking.edit_condition(key)
    edit = hand.view.findChild(InlineEdit)
    edit.setText("absmax >")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert edit.toolTip()
    edit.setText("absmax > 3")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    assert hand.state.document.breakpoints[(*key, "forward")].condition == "absmax > 3"


def test_a_disabled_breakpoint_is_hollow(hand: Hand) -> None:
    key = ("scale", "input")
    hand.view.editor.toggle_breakpoint(key)
    menu = menus.menu_for(hand.view, Hit("wire", edge=key))
    next(a for a in menu.actions() if a.text() == "Disable the breakpoint").trigger()
    menu.deleteLater()
    assert hand.view.canvas.edges[key].wire.breakpoint == "off"


def words(menu: QMenu) -> set[str]:
    return {action.text() for action in menu.actions() if action.text()}


def test_the_menus_offer_what_a_thing_can_do(hand: Hand) -> None:
    wire = menus.menu_for(hand.view, Hit("wire", edge=("scale", "input")))
    node = menus.menu_for(hand.view, Hit("node", "scale"))
    assert {"Add a breakpoint", "Watch", "Run to here", "Delete the wire"} <= words(wire)
    assert {"Rename", "Delete", "⚡ Compile selection", "Run again from here"} <= words(node)
    asked: list[str] = []
    hand.view.rerun_asked.connect(asked.append)
    next(a for a in node.actions() if a.text() == "Run again from here").trigger()
    assert asked == ["scale"]
    wire.deleteLater()
    node.deleteLater()


def test_what_is_under_the_pointer(hand: Hand) -> None:
    scene = hand.view.canvas
    assert hit(scene, hand.card("relu"), 1.0) == Hit("node", "relu")
    assert hit(scene, hand.output("relu"), 1.0) == Hit("output", "relu", "out")
    assert hit(scene, hand.wire(("scale", "input")), 1.0).edge == ("scale", "input")
    assert hit(scene, QPointF(400.0, 400.0), 1.0).kind == "nothing"


def test_a_tool_tip_names_ends_and_shape_of_a_wire(hand: Hand) -> None:
    tip = menus.tip_for(hand.view, Hit("wire", edge=("scale", "input")))
    assert "digits.images → scale.input" in tip
    assert "N×1×8×8 u8" in tip


# a drawing that changes under the hand


def test_a_drag_ends_when_its_node_goes(hand: Hand) -> None:
    hand.drag(hand.card("relu"), hand.card("relu") + QPointF(80.0, 40.0), drop=False)
    hand.state.perform(c.RemoveNode("relu"))
    hand.move(QPointF(300.0, 300.0))
    QTest.mouseRelease(hand.view.viewport(), LEFT, NONE, hand.place(QPointF(300.0, 300.0)))
    assert "relu" not in hand.state.document.nodes
    hand.state.undo_stack.undo()
    assert hand.state.document.nodes["relu"].position == (0.0, 240.0)


def test_a_frame_goes_back_when_its_drag_is_given_up(hand: Hand) -> None:
    hand.state.perform(c.AddFrame(Frame(id="frame", title="F", rect=(300.0, 300.0, 200.0, 120.0))))
    title = QPointF(340.0, 312.0)
    hand.drag(title, title + QPointF(80.0, 40.0), drop=False)
    assert hand.view.canvas.boxes["frame"].pos() != QPointF(300.0, 300.0)
    hand.key(Qt.Key.Key_Escape)
    assert hand.view.canvas.boxes["frame"].pos() == QPointF(300.0, 300.0)


def test_what_is_gone_cannot_be_selected(hand: Hand) -> None:
    hand.state.select(Selection(frozenset({"relu", "gone"}), frozenset({("gone", "x")})))
    assert hand.state.selection == Selection(nodes=frozenset({"relu"}))


def test_an_error_is_seen_on_a_node_that_is_selected_too(hand: Hand) -> None:
    hand.state.select(Selection(nodes=frozenset({"loss"})))
    look = hand.view.canvas.nodes["loss"].look
    assert look.error
    assert look.selected
    picture = hand.view.grab().toImage()
    frame = hand.view.canvas.nodes["loss"].frame
    edge = hand.place(QPointF(frame.center().x(), frame.top()))
    colors = [picture.pixelColor(edge.x(), edge.y() + by) for by in range(-4, 2)]
    assert theme.current().accent in [color.name() for color in colors]
    assert any(color.red() > 160 and color.blue() < 110 for color in colors)


def test_a_long_summary_does_not_grow_a_card_over_its_neighbours() -> None:
    card = geometry.lay_out("conv", "Conv2d 1→32 · 31×31 · pad_mode valid · dilation 2", (), ())
    assert card.width <= 190.0
