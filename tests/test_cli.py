"""The command line: what it prints, what it says when input is bad, and how it ends."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from cellwire.app.cli import main
from cellwire.nodes import changes as c
from cellwire.nodes import items
from cellwire.nodes.document import Document
from cellwire.nodes.files import dumps, load, save


def small_net() -> Document:
    """The digits through three dense layers; two short epochs."""
    return load(Path(__file__).parent / "drawings" / "small_net.cellwire")


@pytest.fixture
def mlp(tmp_path: Path) -> Path:
    """The file of a small drawing."""
    return saved(small_net(), tmp_path)


def saved(document: Document, folder: Path, *changes: c.Change) -> Path:
    """The file of a document after some changes."""
    for change in changes:
        document.apply(change)
    path = folder / "model.cellwire"
    save(document, path)
    return path


def id_of(document: Document, name: str) -> str:
    node = document.node_named(name)
    assert node is not None
    return node.id


def lines(text: str) -> list[dict[str, Any]]:
    """The JSON objects that a command printed."""
    return [json.loads(line) for line in text.splitlines()]


def test_info_lists_nodes_shapes_and_parameters(mlp: Path, capsys: Any) -> None:
    assert main(["info", str(mlp)]) == 0
    out = capsys.readouterr().out
    assert "dense1" in out
    assert "N×128 f32" in out
    assert "8,320" in out
    assert main(["info", str(mlp), "--json"]) == 0
    (told,) = lines(capsys.readouterr().out)
    assert told["event"] == "info"
    assert told["parameters"] == 17226
    assert told["nodes"][0]["name"] == "digits"
    assert told["problems"] == []


def test_run_prints_each_node_and_the_loss(mlp: Path, capsys: Any) -> None:
    assert main(["run", str(mlp)]) == 0
    out = capsys.readouterr().out
    assert "head" in out
    assert "loss" in out
    assert main(["run", str(mlp), "--json"]) == 0
    told = lines(capsys.readouterr().out)
    assert [line["event"] for line in told] == ["node"] * 9 + ["finished"]
    assert told[-1]["loss"] > 0


def test_debug_prints_every_stop_with_statistics(mlp: Path, capsys: Any) -> None:
    breaks = ["--break", "dense1->relu1 if absmax > 0", "--break", "head.out->loss.logits"]
    assert main(["debug", str(mlp), *breaks]) == 0
    out = capsys.readouterr().out
    assert "stopped at dense1.out->relu1" in out
    assert "if absmax > 0 (hit 1)" in out
    assert "128×128" in out
    assert "finished with 2 stops" in out


def test_debug_stops_on_gradients(mlp: Path, capsys: Any) -> None:
    assert main(["debug", str(mlp), "--break-gradient", "dense2->relu2", "--json"]) == 0
    told = lines(capsys.readouterr().out)
    (stop,) = [line for line in told if line["event"] == "stop"]
    assert stop["direction"] == "gradient"
    assert stop["statistics"]["shape"] == [128, 64]
    assert told[-1] == {"event": "end", "stops": 1}


def test_debug_talks_on_a_terminal(mlp: Path, capsys: Any, monkeypatch: Any) -> None:
    said = iter(
        [
            "step",
            "p dense1->relu1",
            "p dense1->relu1 [0, 124:]",
            "back",
            "nonsense",
            "edges",
            "c",
            "n",
            "quit",
        ]
    )
    monkeypatch.setattr("builtins.input", lambda prompt: next(said))
    monkeypatch.setattr("sys.stdin.isatty", lambda: True)
    monkeypatch.setattr("sys.stdout.isatty", lambda: True)
    assert main(["debug", str(mlp), "--break", "dense1->relu1"]) == 0
    out = capsys.readouterr().out
    assert "stopped at dense1.out->relu1" in out
    assert "ran relu1" in out
    assert "16 of 128 rows" in out
    assert "1 of 1 rows" not in out
    assert "the tensor on a wire" in out
    assert "forward pass finished" in out


@pytest.mark.parametrize(
    ("wanted", "words"),
    [
        ("dense1->nowhere", "dense1.out->relu1"),
        ("dense1", "source->target"),
        ("dense1->relu1 if absmaxx > 3", "column 1"),
        ("dense1->relu1 if mean", "comparison"),
        ("dense1->relu1 if " + "(" * 500 + "nan" + ")" * 500, "parentheses"),
        ("dense1->relu1 if " + "not " * 5000 + "nan", "parentheses"),
        ("dense1->relu1 if absmax > 1" + "+1" * 5000, "parentheses"),
    ],
)
def test_a_breakpoint_that_cannot_be_read_is_explained(
    mlp: Path, capsys: Any, wanted: str, words: str
) -> None:
    assert main(["debug", str(mlp), "--break", wanted]) == 2
    assert words in capsys.readouterr().err


def test_train_saves_weights_and_tells_the_held_out_accuracy(mlp: Path, capsys: Any) -> None:
    assert main(["train", str(mlp), "--seed", "1"]) == 0
    out = capsys.readouterr().out
    assert "epoch 2/2" in out
    assert "held-out accuracy" in out
    assert mlp.with_suffix(".safetensors").exists()
    assert mlp.with_suffix(".state.safetensors").exists()


def test_a_training_in_two_parts_ends_where_one_in_one_part_does(
    mlp: Path, tmp_path: Path, capsys: Any
) -> None:
    whole, parts = tmp_path / "whole.safetensors", tmp_path / "parts.safetensors"
    assert main(["train", str(mlp), "--out", str(whole), "--json"]) == 0
    once = lines(capsys.readouterr().out)[-1]
    assert main(["train", str(mlp), "--out", str(parts), "--steps", "7", "--json"]) == 0
    cut = lines(capsys.readouterr().out)[-1]
    assert (cut["steps"], cut["stopped"]) == (7, True)
    assert main(["train", str(mlp), "--out", str(parts), "--resume", "--json"]) == 0
    twice = lines(capsys.readouterr().out)[-1]
    assert whole.read_bytes() == parts.read_bytes()
    assert once["held_out_accuracy"] == twice["held_out_accuracy"]


def test_the_weights_file_gets_its_ending_and_is_no_folder(
    mlp: Path, tmp_path: Path, capsys: Any
) -> None:
    assert main(["train", str(mlp), "--steps", "1", "--out", str(tmp_path / "w"), "--json"]) == 0
    told = lines(capsys.readouterr().out)[-1]["weights"]
    assert told == str(tmp_path.resolve() / "w.safetensors")
    assert Path(told).is_file()
    assert main(["train", str(mlp), "--steps", "1", "--out", str(tmp_path)]) == 2
    assert "is a folder" in capsys.readouterr().err
    assert main(["train", str(mlp), "--seconds", "nan"]) == 2
    assert "too small" in capsys.readouterr().err


def test_overfitting_one_batch_shows_whether_the_model_learns(mlp: Path, capsys: Any) -> None:
    assert main(["train", str(mlp), "--overfit-one-batch", "--json"]) == 0
    told = lines(capsys.readouterr().out)[-1]
    assert told["passed"]
    assert told["last_loss"] < told["first_loss"]
    assert not mlp.with_suffix(".safetensors").exists()


def test_compile_reports_what_became_of_the_nodes(mlp: Path, capsys: Any) -> None:
    assert main(["compile", str(mlp), "--nodes", "dense1,relu1,dense2,relu2"]) == 0
    out = capsys.readouterr().out
    assert "4 nodes" in out
    assert "eager" in out
    assert main(["compile", str(mlp), "--nodes", "dense1, relu1", "--json", "--code"]) == 0
    (told,) = lines(capsys.readouterr().out)
    assert told["nodes"] == ["dense1", "relu1"]
    assert told["parity"] < 1e-5
    assert told["code"]


def test_compile_names_what_a_selection_lacks(mlp: Path, capsys: Any) -> None:
    assert main(["compile", str(mlp), "--nodes", "dense1,dense2"]) != 0
    assert "relu1" in capsys.readouterr().err
    assert main(["compile", str(mlp)]) == 2
    assert "--nodes" in capsys.readouterr().err


def test_export_writes_python_that_runs(mlp: Path, tmp_path: Path, capsys: Any) -> None:
    target = tmp_path / "not" / "there yet" / "net.py"
    assert main(["export", str(mlp), "-o", str(target), "--json"]) == 0
    (told,) = lines(capsys.readouterr().out)
    assert str(target) in told["files"]
    assert "def construct" in target.read_text()


def test_export_says_where_nothing_can_be_written(mlp: Path, tmp_path: Path, capsys: Any) -> None:
    (tmp_path / "file").write_text("")
    assert main(["export", str(mlp), "-o", str(tmp_path / "file" / "net.py")]) == 1
    assert "The folder" in capsys.readouterr().err


BAD: dict[str, tuple[int, str]] = {
    "missing": (2, "no file"),
    "damaged": (2, "not whole JSON"),
    "binary": (2, "UTF-8"),
    "cycle": (2, "feed each other"),
    "open": (2, "not connected"),
    "shapes": (2, "dense2"),
}


def bad_file(kind: str, folder: Path) -> Path:
    """A file that is wrong in one way."""
    path = folder / "model.cellwire"
    document = small_net()
    dense1, dense2 = id_of(document, "dense1"), id_of(document, "dense2")
    (entry,) = [edge.input for edge in document.edges_into(dense1)]
    match kind:
        case "damaged":
            path.write_text(dumps(document)[:-20])
        case "binary":
            path.write_bytes(b"\xff\xfe\x00cellwire")
        case "cycle":
            saved(document, folder, c.Connect(items.Edge(dense2, "out", dense1, entry)))
        case "open":
            saved(document, folder, c.Disconnect(dense1, entry))
        case "shapes":
            saved(document, folder, c.SetParameters(dense2, {"in_channels": 3}))
    return path


@pytest.mark.parametrize("command", ["run", "debug", "train", "compile", "export", "info"])
@pytest.mark.parametrize("kind", BAD)
def test_bad_input_is_named_with_a_fix_and_without_a_traceback(
    kind: str, command: str, tmp_path: Path, capsys: Any
) -> None:
    code, words = BAD[kind]
    assert main([command, str(bad_file(kind, tmp_path))]) == code
    shown = capsys.readouterr()
    text = shown.err + (shown.out if command == "info" else "")
    assert words in text
    assert "Traceback" not in shown.out + shown.err
    if command != "info":
        assert "error:" in shown.err


def test_json_errors_are_told_on_both_outputs(tmp_path: Path, capsys: Any) -> None:
    assert main(["run", str(bad_file("open", tmp_path)), "--json"]) == 2
    shown = capsys.readouterr()
    (told,) = lines(shown.out)
    assert (told["event"], told["exit"], told["node"]) == ("error", 2, "dense1")
    assert told["fix"]
    assert "dense1" in shown.err


def test_a_loss_that_is_no_number_ends_training_with_its_own_code(
    tmp_path: Path, capsys: Any
) -> None:
    document = small_net()
    path = saved(document, tmp_path, c.SetParameters(id_of(document, "scale"), {"factor": 1e38}))
    assert main(["train", str(path)]) == 3
    err = capsys.readouterr().err
    assert "error: " in err
    assert "fix: " in err
    assert not path.with_suffix(".safetensors").exists()


@pytest.mark.parametrize(
    "arguments", [["run"], ["fly", "x"], ["train", "x", "--epochs", "0"], ["run", "x", "--wings"]]
)
def test_wrong_usage_ends_with_its_code(arguments: list[str], capsys: Any) -> None:
    assert main(arguments) == 2
    assert "usage:" in capsys.readouterr().err


def test_help_is_there_for_every_command(capsys: Any) -> None:
    for command in ("run", "debug", "train", "compile", "export", "info", "open"):
        assert main([command, "--help"]) == 0
        assert "--json" in capsys.readouterr().out


def test_without_a_display_the_window_is_refused(capsys: Any, monkeypatch: Any) -> None:
    for name in ("DISPLAY", "WAYLAND_DISPLAY", "QT_QPA_PLATFORM"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.platform", "linux")
    assert main([]) == 2
    assert "no display" in capsys.readouterr().err


def test_ctrl_c_stops_a_training_after_its_step_and_saves(mlp: Path) -> None:
    command = [sys.executable, "-m", "cellwire", "train", str(mlp), "--epochs", "9999", "--json"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        first = json.loads(process.stdout.readline())
        assert first["event"] == "epoch"
        process.send_signal(signal.SIGINT)
        told = lines(process.stdout.read())
    assert process.returncode == 130
    assert (told[-1]["event"], told[-1]["stopped"]) == ("finished", True)
    assert mlp.with_suffix(".state.safetensors").exists()


def test_the_program_loads_no_qt_for_its_commands(mlp: Path) -> None:
    code = (
        "import sys; from cellwire.app.cli import main; main(['info', sys.argv[1]]); "
        "sys.exit(any(name.startswith('PySide6') for name in sys.modules))"
    )
    done = subprocess.run([sys.executable, "-c", code, str(mlp)], capture_output=True, check=False)
    assert done.returncode == 0


def test_a_reader_that_goes_away_is_no_error(mlp: Path) -> None:
    read, write = os.pipe()
    os.close(read)
    command = [sys.executable, "-m", "cellwire", "info", str(mlp)]
    done = subprocess.run(command, stdout=write, stderr=subprocess.PIPE, check=False)
    os.close(write)
    assert (done.returncode, done.stderr) == (0, b"")
