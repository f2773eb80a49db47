"""`.cellwire` files: stable text, safe saves, clear refusals, nothing lost."""

import json
from pathlib import Path

import pytest
from cellwire.nodes import changes as c
from cellwire.nodes import files
from cellwire.nodes.document import Document, DocumentError
from cellwire.nodes.items import Edge, NodeItem
from cellwire.nodes.migrate import migrate

TEXT = """{
  "format": "cellwire",
  "version": 1,
  "title": "Two",
  "nodes": [
    {"id": "a", "type": "data.digits", "name": "Digits", "params": {}, "position": [0, 20]},
    {"id": "b", "type": "future.Node", "name": "new", "params": {"k": [1, 2.5]}, \
"position": [180.5, 0], "tint": {"x": 1}}
  ],
  "edges": [
    ["a", "images", "b", "x"],
    ["gone", "out", "b", "y"]
  ],
  "groups": [],
  "frames": [],
  "notes": [],
  "breakpoints": [
    {"target": "b", "input": "x", "direction": "forward", "condition": "nan", "action": "stop", \
"enabled": true},
    {"target": "b", "input": "y", "direction": "forward", "condition": "", "action": "log", \
"enabled": false}
  ],
  "watches": [],
  "training": {
    "optimizer": "Adam",
    "learning_rate": 0.001,
    "momentum": 0.9,
    "weight_decay": 0.0,
    "schedule": "constant",
    "batch_size": 32,
    "epochs": 10,
    "seed": 0,
    "shuffle": true,
    "loss": null,
    "metric": "auto",
    "warmup": 3
  },
  "view": {"center": [0, 0], "zoom": 1.0},
  "cloud": {"id": 7}
}
"""


def test_what_is_not_known_survives_a_load_and_save_untouched() -> None:
    document = files.loads(TEXT)
    assert files.dumps(document) == TEXT
    assert document.nodes["b"].extra == {"tint": {"x": 1}}
    assert list(document.edges) == [("b", "x")]
    assert Edge("gone", "out", "b", "y") in document.state.loose


def test_saving_keeps_the_last_good_version_and_an_unchanged_drawing_is_left_alone(
    tmp_path: Path,
) -> None:
    path = tmp_path / "two.cellwire"
    indented = json.dumps(json.loads(TEXT), indent=1)
    path.write_text(indented)
    document = files.load(path)
    files.save(document, path)
    assert path.read_text() == indented
    document.apply(c.SetTitle("Three"))
    files.save(document, path)
    assert files.load(path).title == "Three"
    assert (tmp_path / "two.cellwire~").read_text() == indented
    path.write_text("damaged")
    files.save(document, path)
    assert files.load(path).title == "Three"
    assert files.load(tmp_path / "two.cellwire~").title == "Two"
    assert sorted(file.name for file in tmp_path.iterdir()) == ["two.cellwire", "two.cellwire~"]


def test_a_save_that_fails_leaves_what_was_there(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "two.cellwire"
    path.write_text(TEXT)
    document = files.load(path)
    document.apply(c.SetTitle("Three"))

    def fail(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(files.os, "fsync", fail)
    with pytest.raises(DocumentError, match=r"cannot be saved: No space left on device"):
        files.save(document, path)
    assert path.read_text() == TEXT
    assert [file.name for file in tmp_path.iterdir()] == ["two.cellwire"]


def test_a_node_costs_one_line_of_a_diff() -> None:
    document = files.loads(TEXT)
    before = files.dumps(document).splitlines()
    document.apply(c.AddNode(NodeItem(id="aa", type="nn.Dense", name="dense1")))
    after = files.dumps(document).splitlines()
    assert [line for line in after if line not in before] == [
        '    {"id": "aa", "type": "nn.Dense", "name": "dense1", "params": {}, "position": [0, 0]},'
    ]
    assert len(after) == len(before) + 1


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{\n  "format": "cellwire",\n  "nodes": [,]\n}', "line 3, column 13: Expecting value"),
        ("", "line 1, column 1"),
        ("[]", "no Cellwire document"),
        ('{"format": "cellwire"}', "version is None"),
        (
            '{"format": "cellwire", "version": 2}',
            r"newer Cellwire \(format 2; .* up to 1\): update",
        ),
        ('{"format": "cellwire", "version": 1, "nodes": {}}', "nodes is {}; a list is expected"),
        (
            '{"format": "cellwire", "version": 1, "nodes": [{"id": "a", "type": 3, "name": "a"}]}',
            r"nodes\[0\].type: Expected `str`, got `int`",
        ),
        (
            '{"format": "cellwire", "version": 1, "nodes": [{"id": "a", "type": "x"}]}',
            r"nodes\[0\]: Object missing required field `name`",
        ),
        (
            '{"format": "cellwire", "version": 1, "edges": [["a", "b"]]}',
            r"edges\[0\] is \['a', 'b'\]",
        ),
        (
            '{"format": "cellwire", "version": 1, "training": {"epochs": 0}}',
            r"training.epochs: Expected `int` >= 1",
        ),
        ('{"format": "cellwire", "version": 1, "view": {"zoom": NaN}}', "cannot be nan"),
        ('{"format": "cellwire", "version": 1, "title": "\\ud800"}', "cannot be '.ud800'"),
        ('{"format": "cellwire", "version": ' + "1" * 5000 + "}", "a number in it is too long"),
        (
            '{"format": "cellwire", "version": 1, "training": {"seed": 9223372036854775808}}',
            "training.seed",
        ),
        (
            '{"format": "cellwire", "version": 1, "training": {"learning_rate": 1e300}}',
            "training.learning_rate",
        ),
        (
            '{"format": "cellwire", "version": 1, "nodes": ['
            '{"id": "a", "type": "x", "name": "a"}, {"id": "a", "type": "x", "name": "b"}]}',
            r"nodes\[1\] has the place of another one, 'a'",
        ),
    ],
)
def test_a_damaged_file_is_refused_with_the_place(text: str, message: str) -> None:
    with pytest.raises(DocumentError, match=message):
        files.loads(text, "bad.cellwire")


def test_text_that_is_not_utf8_is_refused_with_its_line() -> None:
    with pytest.raises(DocumentError, match="line 2 is not UTF-8"):
        files.loads(b"{\n\xff}")


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(DocumentError, match=r"There is no file .*none\.cellwire"):
        files.load(tmp_path / "none.cellwire")
    with pytest.raises(DocumentError, match="cannot be read"):
        files.load(tmp_path)


def test_older_files_take_one_step_a_version() -> None:
    steps = {
        1: lambda raw: raw | {"first": True},
        2: lambda raw: raw | {"second": raw["first"]},
    }
    migrated = migrate({"format": "cellwire", "version": 1}, steps, 3)
    assert migrated == {"format": "cellwire", "version": 3, "first": True, "second": True}
    with pytest.raises(DocumentError, match="reads format 1 any more"):
        migrate({"version": 1}, {}, 2)


def test_an_empty_document_round_trips() -> None:
    text = files.dumps(Document())
    assert files.dumps(files.loads(text)) == text


def test_the_published_schema_is_the_one_of_the_structs() -> None:
    published = files.ASSETS / "cellwire.schema.json"
    assert json.loads(published.read_text()) == files.schema()
    assert "extra" not in published.read_text()
