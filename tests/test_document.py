"""A document changes only by changes, each of which gives the change that undoes it."""

from typing import Any

import msgspec
import pytest
from cellwire.nodes import changes as c
from cellwire.nodes import clipboard, files
from cellwire.nodes.document import Document, DocumentError
from cellwire.nodes.items import (
    Breakpoint,
    Edge,
    Frame,
    Group,
    NodeItem,
    Note,
    Training,
    Watch,
    new_id,
)
from hypothesis import given
from hypothesis import strategies as st

IDS = ("a", "b", "c", "d")
PORTS = ("x", "y")


def node(id: str, name: str = "") -> NodeItem:
    return NodeItem(id=id, type="nn.Dense", name=name or id, params={"out_channels": 4})


def chain() -> Document:
    document = Document("Chain")
    for id in ("a", "b", "c"):
        document.apply(c.AddNode(node(id)))
    document.apply(c.Connect(Edge("a", "out", "b", "x")))
    document.apply(c.Connect(Edge("b", "out", "c", "x")))
    document.apply(c.SetBreakpoint(Breakpoint(target="b", input="x", condition="nan")))
    document.apply(c.SetWatch(Watch(target="c", input="x")))
    document.apply(c.AddGroup(Group(id="g", name="middle", nodes=("b",))))
    return document


def changes() -> st.SearchStrategy[c.Change]:
    id, port, names = st.sampled_from(IDS), st.sampled_from(PORTS), st.sampled_from(IDS)
    number = st.floats(-1e6, 1e6)
    nodes = st.builds(node, id, names)
    groups = st.builds(
        lambda i, members: Group(id=i, name=i, nodes=tuple(members)),
        id,
        st.lists(id, max_size=3),
    )
    simple = st.one_of(
        st.builds(c.AddNode, nodes),
        st.builds(c.RemoveNode, id),
        st.builds(c.MoveNodes, st.dictionaries(id, st.tuples(number, number), max_size=2)),
        st.builds(
            c.SetParameters,
            id,
            st.dictionaries(st.sampled_from(("p", "q")), st.integers(0, 9)),
            st.sampled_from(((), ("q",), ("out_channels",))),
        ),
        st.builds(c.RenameNode, id, names),
        st.builds(c.Connect, st.builds(Edge, id, st.just("out"), id, port)),
        st.builds(c.Disconnect, id, port),
        st.builds(
            c.SetBreakpoint,
            st.builds(
                lambda t, p, e: Breakpoint(target=t, input=p, enabled=e), id, port, st.booleans()
            ),
        ),
        st.builds(c.RemoveBreakpoint, id, port),
        st.builds(c.SetWatch, st.builds(lambda t, p: Watch(target=t, input=p), id, port)),
        st.builds(c.RemoveWatch, id, port),
        st.builds(c.AddGroup, groups),
        st.builds(c.SetGroup, groups),
        st.builds(c.RemoveGroup, id),
        st.builds(c.AddFrame, st.builds(lambda i: Frame(id=i, title=i), id)),
        st.builds(c.SetFrame, st.builds(lambda i, t: Frame(id=i, title=t), id, names)),
        st.builds(c.RemoveFrame, id),
        st.builds(c.AddNote, st.builds(lambda i: Note(id=i, text=i), id)),
        st.builds(c.SetNote, st.builds(lambda i, t: Note(id=i, text=t), id, names)),
        st.builds(c.RemoveNote, id),
        st.builds(c.SetTraining, st.builds(lambda e: Training(epochs=e), st.integers(1, 9))),
        st.builds(c.SetTitle, names),
    )
    return simple | st.builds(
        lambda parts: c.Compound("several", tuple(parts)), st.lists(simple, max_size=4)
    )


@given(st.lists(changes(), max_size=25))
def test_undoing_any_changes_gives_the_same_file_and_redoing_them_the_other(
    wanted: list[c.Change],
) -> None:
    document = chain()
    before, revision = files.dumps(document), document.revision
    inverses = []
    for change in wanted:
        untouched = files.dumps(document)
        try:
            inverses.append(document.apply(change))
        except DocumentError:
            assert files.dumps(document) == untouched
    assert document.revision == revision + len(inverses)
    after = files.dumps(document)
    redo = [document.apply(inverse) for inverse in reversed(inverses)]
    assert files.dumps(document) == before
    for change in reversed(redo):
        document.apply(change)
    assert files.dumps(document) == after


@given(changes())
def test_a_change_survives_the_wire(change: c.Change) -> None:
    assert msgspec.msgpack.decode(msgspec.msgpack.encode(change), type=c.Change) == change


def test_removing_a_node_takes_its_wires_marks_and_membership_and_one_undo_restores_them() -> None:
    document = chain()
    before = files.dumps(document)
    inverse = document.apply(c.RemoveNode("b"))
    assert not document.edges
    assert not document.breakpoints
    assert not document.watches
    assert not document.groups
    document.apply(inverse)
    assert files.dumps(document) == before


def test_an_input_takes_one_wire_and_connecting_replaces_it() -> None:
    document = chain()
    inverse = document.apply(c.Connect(Edge("a", "out", "c", "x")))
    assert document.edges["c", "x"].source == "a"
    document.apply(inverse)
    assert document.edges["c", "x"].source == "b"


def test_a_compound_is_applied_whole_or_not_at_all_and_is_one_event() -> None:
    document = chain()
    seen: list[c.Change] = []
    unsubscribe = document.subscribe(seen.append)
    before = files.dumps(document)
    with pytest.raises(DocumentError, match="no node 'z'"):
        document.apply(c.Compound("both", (c.SetTitle("New"), c.RemoveNode("z"))))
    assert files.dumps(document) == before
    assert not seen
    both = c.Compound("both", (c.SetTitle("New"), c.RenameNode("a", "first")))
    document.apply(both)
    assert seen == [both]
    unsubscribe()
    document.apply(c.SetTitle("Newer"))
    assert seen == [both]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (c.AddNode(node("a", "new")), "id 'a' is empty or that of another node"),
        (c.AddNode(node("n", "a")), "named 'a' already"),
        (c.AddNode(node("n", " n")), "no space at either end"),
        (c.AddNode(node("n", "x.y")), "leave out '.'"),
        (c.RenameNode("a", "b"), "named 'b' already"),
        (c.Connect(Edge("a", "out", "z", "x")), "no node 'z'"),
        (c.Disconnect("a", "x"), "no wire a · x"),
        (c.SetBreakpoint(Breakpoint(target="a", input="x")), "no wire a · x"),
        (c.AddGroup(Group(id="h", name="h", nodes=("b",))), "'b' is in the compile group 'middle'"),
        (c.AddGroup(Group(id="h", name="h", nodes=())), "one node or more"),
        (c.SetParameters("a", {"p": float("nan")}), "p of 'a' cannot be nan"),
        (c.MoveNodes({"a": (float("inf"), 0.0)}), "finite numbers"),
        (c.SetTitle(" "), "one line of text"),
    ],
)
def test_a_change_that_does_not_fit_is_refused_with_the_reason(
    change: c.Change, message: str
) -> None:
    document = chain()
    before = files.dumps(document)
    with pytest.raises(DocumentError, match=message):
        document.apply(change)
    assert files.dumps(document) == before


def test_free_names_count_up() -> None:
    document = chain()
    assert document.free_name("dense") == "dense1"
    document.apply(c.AddNode(node(new_id(), "dense1")))
    assert document.free_name("dense") == "dense2"
    assert document.free_name("dense", ["dense2"]) == "dense3"


def test_pasting_gives_new_ids_and_keeps_parameters_and_inner_wires() -> None:
    document = chain()
    text = clipboard.copy_nodes(document, ["b", "c"])
    assert clipboard.can_paste(text)
    inverse = document.apply(clipboard.paste(document, text, (100.0, 50.0)))
    added = [item for item in document.nodes.values() if item.id not in IDS]
    assert {item.name for item in added} == {"b1", "c1"}
    assert all(item.params == {"out_channels": 4} for item in added)
    assert all(item.position == (100.0, 50.0) for item in added)
    names = {item.id: item.name for item in added}
    wires = [edge for edge in document.edges.values() if edge.target in names]
    assert [(names[edge.source], names[edge.target], edge.input) for edge in wires] == [
        ("b1", "c1", "x")
    ]
    document.apply(inverse)
    assert files.dumps(document) == files.dumps(chain())


@pytest.mark.parametrize("text", ["", "hello", "{}", '{"type":"cellwire-clipboard","nodes":[]}'])
def test_other_text_on_the_clipboard_is_not_pasted(text: str) -> None:
    assert not clipboard.can_paste(text)
    with pytest.raises(DocumentError, match="holds no nodes"):
        clipboard.paste(Document(), text, (0.0, 0.0))


@pytest.mark.parametrize(
    "settings", [{"learning_rate": float("nan")}, {"seed": 2**70}, {"epochs": 0}, {"loss": 3}]
)
def test_training_settings_that_no_file_can_hold_are_refused(settings: dict[str, Any]) -> None:
    document = Document()
    with pytest.raises(DocumentError, match="training setting"):
        document.apply(c.SetTraining(Training(**settings)))
    assert document.training == Training()
