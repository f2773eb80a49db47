"""The run graph: order, wires by name, convex selections, groups, and what is refused."""

import pytest
from cellwire.engine.run.graph import (
    Edge,
    Graph,
    GraphError,
    Group,
    Node,
    Source,
    convex_closure,
    schedule,
)


def same(*values: object) -> object:
    return values[0]


def node(id_: str, **inputs: str) -> Node:
    return Node(id_, id_.upper(), same, {p: Source(s, "out") for p, s in inputs.items()})


def diamond() -> Graph:
    return Graph([node("d", x="b", y="c"), node("b", x="a"), node("c", x="a"), node("a")])


def test_nodes_run_after_what_feeds_them() -> None:
    assert diamond().order == ("a", "b", "c", "d")
    assert diamond().outputs == (Source("d", "out"),)


def test_a_cycle_is_named() -> None:
    with pytest.raises(GraphError, match=r"cycle: (A → B → A|B → A → B)") as caught:
        Graph([node("a", x="b"), node("b", x="a"), node("c")])
    assert set(caught.value.nodes) == {"a", "b"}


@pytest.mark.parametrize(
    ("nodes", "problem"),
    [
        ([node("a"), node("a")], "two nodes have the id a"),
        ([node("a", x="z")], "input x of A is wired to a node z, which is missing"),
        ([node("a"), Node("b", "B", same, {"x": Source("a", "y")})], "A has only out"),
    ],
)
def test_a_broken_graph_is_refused(nodes: list[Node], problem: str) -> None:
    with pytest.raises(GraphError, match=problem):
        Graph(nodes)


def test_wires_are_found_by_names_and_ports() -> None:
    graph = diamond()
    assert graph.edge("A->B") == Edge("b", "x")
    assert graph.edge("A.out -> B.x") == Edge("b", "x")
    assert graph.edge("b->d") == Edge("d", "x")
    assert graph.edge_text(Edge("d", "y")) == "C.out->D.y"
    assert graph.source(Edge("d", "y")) == Source("c", "out")


def test_a_wire_that_is_not_there_lists_those_that_are() -> None:
    with pytest.raises(GraphError, match=r"no wire goes A->D; the graph's wires: A\.out->B\.x"):
        diamond().edge("A->D")
    with pytest.raises(GraphError, match="write source->target"):
        diamond().edge("A")
    twice = Graph([node("a"), node("b", x="a", y="a")])
    with pytest.raises(GraphError, match=r"could be any of A\.out->B\.x, A\.out->B\.y"):
        twice.edge("A->B")


def test_the_convex_closure_adds_what_lies_between() -> None:
    graph = Graph([node("a"), node("b", x="a"), node("c", x="b"), node("d", x="c", y="a")])
    assert convex_closure(graph, ["a", "d"]) == {"a", "b", "c", "d"}
    assert convex_closure(graph, ["a", "b"]) == {"a", "b"}
    assert graph.ancestors(["c"]) == {"a", "b"}
    assert graph.descendants(["b"]) == {"c", "d"}


def test_a_group_that_is_not_convex_names_what_is_missing() -> None:
    graph = diamond()
    nodes = graph.nodes.values()
    with pytest.raises(GraphError, match="through B, C; add them"):
        Graph(nodes, groups=[Group("g", "G", frozenset({"a", "d"}))])
    with pytest.raises(GraphError, match="B would be in both G and H"):
        Graph(
            nodes,
            groups=[Group("g", "G", frozenset({"b"})), Group("h", "H", frozenset({"b", "d"}))],
        )


def test_groups_run_as_one_step_in_order() -> None:
    group = Group("g", "G", frozenset({"b", "c"}))
    assert schedule(diamond(), [group]) == ("a", group, "d")


def test_groups_that_feed_each_other_are_refused() -> None:
    graph = Graph([node("a"), node("b"), node("c", x="a"), node("d", x="b")])
    left, right = Group("l", "L", frozenset({"a", "d"})), Group("r", "R", frozenset({"b", "c"}))
    with pytest.raises(GraphError, match="feed each other"):
        schedule(graph, [left, right])
