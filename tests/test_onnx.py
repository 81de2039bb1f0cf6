"""Exported players: what ONNX Runtime makes of them, what they say of themselves, refusals."""

import json

import numpy as np
import pytest

pytest.importorskip("torch")
pytest.importorskip("onnx")
pytest.importorskip("onnxruntime")
import onnx
import onnxruntime

from fives_env import Rules
from fives_env.engine import view
from fives_env.players import checkpoint, features
from fives_env.players.network import NetworkPlayer
from fives_env.players.valuing import ValuePlayer
from tests import test_network, test_values
from training import export_onnx, ppo

SEVEN = Rules(tiles=7)


def export(capsys, *words):
    """The file that the command writes, opened."""
    assert export_onnx.main([str(word) for word in words]) == 0
    said = capsys.readouterr().out
    assert said.startswith("Wrote ") and "rows from play it is " in said
    return opened(words[-1])


def opened(file):
    return onnxruntime.InferenceSession(str(file), providers=["CPUExecutionProvider"])


def about(session):
    meta = session.get_modelmeta().custom_metadata_map
    text = ("architecture", "checkpoint_sha256")
    return {name: said if name in text else json.loads(said) for name, said in meta.items()}


def described(arguments):
    return {a.name: (a.type, a.shape) for a in arguments}


@pytest.fixture
def logits(tmp_path):
    checkpoint.save(tmp_path / "logits", test_network.random_weights(SEVEN), SEVEN)
    return tmp_path / "logits"


@pytest.mark.parametrize(
    "rules", [SEVEN, Rules(players=3), Rules("five_up", players=4, teams=True), Rules("cribbage")]
)
def test_a_network_of_logits(rules, tmp_path, capsys):
    folder, file = tmp_path / "player", tmp_path / "player.onnx"
    checkpoint.save(folder, test_network.random_weights(rules), rules)
    session = export(capsys, f"network:{folder}", "--file", file)
    n = rules.n_actions
    assert described(session.get_inputs()) == {
        "counts": ("tensor(uint8)", ["rows", view.size(rules)])
    }
    assert described(session.get_outputs()) == {
        "logits": ("tensor(float)", ["rows", n]),
        "values": ("tensor(float)", ["rows"]),
    }
    views = test_network.views_of(rules, 50, seed=3)
    expected = NetworkPlayer(folder).forward(views.obs)
    for rows in (slice(0), slice(1), slice(50)):
        found = session.run(["logits", "values"], {"counts": views.obs[rows]})
        for one, two, unit in zip(found, expected, (1, ppo.POINTS), strict=True):
            np.testing.assert_allclose(one, unit * two[rows], atol=1e-5 * unit * abs(two).max())
    said = about(session)
    assert said["rules"] == [rules.to_dict()] and said["encoding"] == view.ENCODING
    assert said["actions"] == [rules.action_name(action) for action in range(n)]
    assert said["columns"]["counts"]["hand"] == [0, 28]
    assert set(said["units"]) == {"logits", "values"}


@pytest.mark.parametrize(
    ("sees", "kind"), [("plays", "network"), ("tiles", "network"), ("scalars", "tiny")]
)
def test_a_network_of_values(sees, kind, tmp_path, capsys):
    folder, file = tmp_path / "player", tmp_path / "player.onnx"
    rules, also = Rules(players=3), Rules(players=4)
    weights = test_values.random_weights(sees)
    checkpoint.save(folder, weights, rules, also=[also.to_dict()])
    session = export(capsys, f"{kind}:{folder}", "--file", file)
    columns = features.SEES[sees]
    inputs = {"planes": columns, "scalars": features.SCALARS}
    assert described(session.get_inputs()) == {
        name: ("tensor(float)", ["rows", size])
        for name, size in inputs.items()
        if columns or name == "scalars"
    }
    assert described(session.get_outputs()) == {"values": ("tensor(float)", ["rows"])}
    player, records = ValuePlayer(folder), test_values.records_of(rules, 20, seed=5)
    for k, mask in enumerate(test_values.views_of(rules, records).mask):
        actions = np.flatnonzero(mask)
        rows = [test_values.columns_of(records, rules, k, int(a), columns) for a in actions]
        given = {"scalars": np.array([list(x.values()) for _, x in rows], np.float32)}
        if columns:
            given["planes"] = np.array([row for row, _ in rows], np.float32)
        expected = player.values(rules, records[k : k + 1], actions)
        np.testing.assert_allclose(session.run(["values"], given)[0], expected, atol=1e-4)
    said = about(session)
    assert said["rules"] == [rules.to_dict(), also.to_dict()]
    assert said["features"] == features.VERSION and said["architecture"] == "values"
    assert [*said["columns"]["scalars"]] == list(features.NAMES)
    assert ("planes" in said["columns"]) == (columns > 0)


def test_every_plane_has_a_name():
    ends = list(export_onnx.plane_columns(features.PLANES).values())
    assert [first for first, _ in ends] == [0, *(end for _, end in ends[:-1])]
    assert ends[-1][1] == features.PLANES
    assert export_onnx.plane_columns(features.PLANES)["tile"] == [features.TILE, features.TILE + 28]


def test_a_shipped_player_by_name_always_gives_the_same_file(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert export_onnx.main(["tiny"]) == export_onnx.main(["tiny:tiny", "--file", "b.onnx"]) == 0
    assert (tmp_path / "tiny.onnx").read_bytes() == (tmp_path / "b.onnx").read_bytes()
    assert sorted(file.name for file in tmp_path.iterdir()) == ["b.onnx", "tiny.onnx"]
    onnx.checker.check_model(onnx.load(tmp_path / "b.onnx"), full_check=True)
    assert about(opened("b.onnx"))["checkpoint_sha256"] == checkpoint.load("tiny")[1]["sha256"]


def test_a_file_that_differs_is_not_kept(logits, tmp_path, monkeypatch, capsys):
    file = tmp_path / "a.onnx"
    file.write_bytes(b"an earlier one")
    built = export_onnx.logits_graph

    def wrong(weights, rules):
        return built(weights | {"greed": weights["greed"] + np.float32(0.01)}, rules)

    monkeypatch.setattr(export_onnx, "logits_graph", wrong)
    assert "differ from those of torch by " in refused(capsys, logits, "--file", file)
    assert file.read_bytes() == b"an earlier one" and len(list(tmp_path.iterdir())) == 2


def refused(capsys, *words):
    assert export_onnx.main([str(word) for word in words]) == 2
    said = capsys.readouterr().err
    assert said.endswith(".\n") and said.count("\n") == 1
    return said


def test_refusals(logits, tmp_path, monkeypatch, capsys):
    for player in ("greedy", "network:nowhere", "search:worlds=3", ""):
        assert "but must be a folder with a card.json" in refused(capsys, player)
    assert "must be a name that ends in .onnx" in refused(capsys, logits, "--file", "model")
    nowhere = tmp_path / "nowhere" / "a.onnx"
    assert "cannot be written: No such file" in refused(capsys, logits, "--file", nowhere)
    test_network.change_card(logits, architecture="other")
    assert "architecture is 'other', but must be one of " in refused(capsys, logits)
    monkeypatch.setattr(export_onnx, "onnxruntime", None)
    assert "pip install 'fives-env[onnx]'" in refused(capsys, "tiny")
