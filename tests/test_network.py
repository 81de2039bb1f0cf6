"""Checkpoints on disk, and the network that plays from them."""

import json
import re
import shutil
import warnings
from itertools import pairwise

import numpy as np
import pytest

from fives_env import Rules
from fives_env.arena import evaluate
from fives_env.engine import view
from fives_env.envs.self_play import SelfPlay
from fives_env.players import Views, checkpoint, make_player
from fives_env.players.network import CHUNK, NetworkPlayer

RULES = Rules(tiles=7)


def random_weights(rules, hidden=(24, 16), seed=0):
    rng = np.random.default_rng(seed)
    sizes = [view.size(rules), *hidden, rules.n_actions + 1]
    weights = {"greed": np.float32(0.2)}
    for k, (inputs, outputs) in enumerate(pairwise(sizes)):
        weights[f"layers.{k}.weight"] = rng.standard_normal((outputs, inputs), np.float32)
        weights[f"layers.{k}.bias"] = rng.standard_normal(outputs, np.float32)
    return weights


def views_of(rules, k=300, seed=0):
    """Views from the middle of rounds, as far as a network looks at them."""
    game, rng = SelfPlay(k, rules, seed=seed), np.random.default_rng(seed)
    for _ in range(9):
        game.step(np.where(game.mask, rng.random(game.mask.shape), -1).argmax(1))
    keys = rng.integers(0, 2**63, k, dtype=np.uint64)
    return Views(rules, game.obs, game.mask, game.tables, keys)


def part(views, rows):
    return Views(
        views.rules, views.obs[rows], views.mask[rows], views.records[rows], views.keys[rows]
    )


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("players") / "tiny"
    checkpoint.save(path, random_weights(RULES), RULES, seed=3)
    return path


@pytest.fixture
def copy(folder, tmp_path):
    return shutil.copytree(folder, tmp_path / "tiny")


def change_card(folder, **values):
    card = json.loads((folder / "card.json").read_text())
    (folder / "card.json").write_text(json.dumps(card | values))


def refusal(act, *args):
    """The sentence of the ValueError that a call raises."""
    with pytest.raises(ValueError) as caught:
        act(*args)
    text = str(caught.value)
    assert text.endswith(".") and "\n" not in text
    return text


class TestCheckpoint:
    def test_comes_back_as_it_was(self, folder):
        weights, card = checkpoint.load(folder)
        expected = random_weights(RULES)
        assert weights.keys() == expected.keys()
        assert all((weights[name] == expected[name]).all() for name in weights)
        assert card["rules"] == RULES.to_dict() and card["fingerprint"] == RULES.fingerprint
        assert card["encoding"] == view.ENCODING and card["hidden"] == [24, 16]
        assert (card["players"], card["actions"], card["seed"]) == (2, RULES.n_actions, 3)

    def test_nothing_but_its_three_files_is_left(self, folder):
        names = sorted(path.name for path in folder.iterdir())
        assert names == ["README.md", "card.json", "model.safetensors"]

    def test_readme_says_rules_and_results(self, tmp_path):
        result = {"a": "network:duel", "b": "greedy", "rules": repr(RULES), "seed": 5}
        result |= {"margin": 7.125, "low": 6.5, "high": 7.75, "pairs": 4000}
        checkpoint.save(tmp_path / "duel", random_weights(RULES), RULES, results=[result])
        text = (tmp_path / "duel" / "README.md").read_text()
        assert "# duel" in text and repr(RULES) in text
        assert "greedy: +7.12 points a round, 95 % interval +6.50 to +7.75" in text
        call = f"evaluate('network:duel', 'greedy', rules={RULES!r}, pairs=4000, seed=5)"
        assert call in text

    def test_save_replaces_an_older_one(self, copy):
        checkpoint.save(copy, random_weights(RULES, (8,), seed=1), RULES)
        weights, card = checkpoint.load(copy)
        assert card["hidden"] == [8] and weights["layers.0.bias"].shape == (8,)

    def test_shipped_ones_are_found_by_name(self, folder, monkeypatch):
        monkeypatch.setattr(checkpoint, "SHIPPED", (folder / "nowhere", folder.parent))
        assert checkpoint.load("tiny")[1]["seed"] == 3
        assert make_player("network:tiny").name == "network:tiny"
        assert "one that is shipped: tiny" in refusal(checkpoint.load, "duel-7")

    def test_path_as_given_comes_before_shipped_ones(self, folder, copy, monkeypatch):
        change_card(copy, seed=4)
        monkeypatch.setattr(checkpoint, "SHIPPED", (folder.parent,))
        monkeypatch.chdir(copy.parent)
        assert checkpoint.load("tiny")[1]["seed"] == 4


class TestRefusals:
    def test_missing_folder(self, tmp_path):
        assert "must be a folder with a card.json, or one" in refusal(
            checkpoint.load, tmp_path / "none"
        )

    @pytest.mark.parametrize("name", ["card.json", "model.safetensors"])
    def test_missing_file(self, copy, name):
        (copy / name).unlink()
        assert f"{name} cannot be read (No such file or directory)" in refusal(NetworkPlayer, copy)

    def test_weights_cut_at_any_byte(self, copy):
        path = copy / "model.safetensors"
        whole = path.read_bytes()
        header = 8 + int.from_bytes(whole[:8], "little")
        cuts = {*range(header + 5), *range(header, len(whole), 997), len(whole) - 1}
        for cut in sorted(cuts):
            path.write_bytes(whole[:cut])
            assert "cut short" in refusal(checkpoint.load, copy)

    def test_card_cut_at_any_byte(self, copy):
        path = copy / "card.json"
        whole = path.read_bytes().rstrip()
        for cut in range(len(whole)):
            path.write_bytes(whole[:cut])
            assert "card.json is cut short or damaged" in refusal(checkpoint.load, copy)

    @pytest.mark.parametrize("text", [b"[]", b"null", b"\xff\xfe", b"{}x"])
    def test_card_that_is_none(self, copy, text):
        (copy / "card.json").write_bytes(text)
        assert "card.json is cut short or damaged" in refusal(checkpoint.load, copy)

    @pytest.mark.parametrize("key", checkpoint.KEYS)
    def test_card_without_a_key(self, copy, key):
        change_card(copy, **{key: None})
        assert f"{key} in card.json is None" in refusal(checkpoint.load, copy)

    def test_weights_of_another_checkpoint(self, copy, tmp_path):
        checkpoint.save(tmp_path / "other", random_weights(RULES, seed=1), RULES)
        shutil.copy(tmp_path / "other" / "model.safetensors", copy)
        assert "from another checkpoint" in refusal(checkpoint.load, copy)

    def test_changed_byte(self, copy):
        data = bytearray((copy / "model.safetensors").read_bytes())
        data[-1] ^= 1
        (copy / "model.safetensors").write_bytes(data)
        assert "changed" in refusal(checkpoint.load, copy)

    def test_other_encoding(self, copy):
        change_card(copy, encoding=view.ENCODING + 1)
        text = refusal(NetworkPlayer, copy)
        assert f"encoding {view.ENCODING + 1}" in text and "train it again" in text

    def test_card_at_odds_with_its_rules(self, copy):
        change_card(copy, actions=7)
        assert "actions in card.json is 7, but its rules have 118" in refusal(checkpoint.load, copy)

    def test_card_at_odds_with_its_weights(self, copy):
        change_card(copy, hidden=[24, 17])
        assert "shapes" in refusal(checkpoint.load, copy)

    @pytest.mark.parametrize(
        ("options", "text"),
        [
            ({"players": 3}, "trained for 2 players"),
            ({"spinner": "none"}, "trained for 118 actions"),
            ({"spinner": "all"}, "trained for 118 actions"),
        ],
    )
    def test_rules_of_other_shapes(self, folder, options, text):
        views = views_of(Rules(**options), 2)
        assert text in refusal(NetworkPlayer(folder).act, views)

    def test_other_rules_of_the_same_shapes_are_a_warning_once(self, folder):
        player, views = NetworkPlayer(folder), views_of(Rules(tiles=9), 5)
        sentence = re.escape(f"was trained for {RULES!r}, but plays {Rules(tiles=9)!r}.")
        with pytest.warns(UserWarning, match=sentence):
            player.act(views)
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            player.act(views)
            player.act(views_of(RULES, 5))

    @pytest.mark.parametrize("temperature", [-1, float("nan")])
    def test_temperature(self, folder, temperature):
        assert "temperature is" in refusal(NetworkPlayer, folder, temperature)


class TestPlayer:
    @pytest.mark.parametrize("rules", [RULES, Rules(players=4, teams=True), Rules(spinner="all")])
    def test_equals_torch(self, tmp_path, rules):
        torch = pytest.importorskip("torch")
        from training.policy import Network

        torch.manual_seed(1)
        network = Network(rules, (64, 48))
        for p in network.parameters():
            torch.nn.init.normal_(p, 0.0, 0.1)
        weights = {name: p.detach().numpy() for name, p in network.named_parameters()}
        checkpoint.save(tmp_path / "net", weights, rules)
        player, views = NetworkPlayer(tmp_path / "net"), views_of(rules)
        logits, values = player.forward(views.obs)
        with torch.inference_mode():
            their_logits, their_values = network(torch.from_numpy(views.obs))
        np.testing.assert_allclose(logits, their_logits.numpy(), atol=1e-5)
        np.testing.assert_allclose(values, their_values.numpy(), atol=1e-5)
        theirs = np.where(views.mask, their_logits.numpy(), -np.inf).argmax(1)
        assert (player.act(views) == theirs).all()

    def test_imports_no_torch(self):
        import subprocess
        import sys

        code = "import sys, fives_env.players.network; sys.exit('torch' in sys.modules)"
        assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0

    def test_row_depends_on_itself_alone(self, folder):
        player, views = NetworkPlayer(folder), views_of(RULES)
        whole = player.forward(views.obs)[0]
        order = np.random.default_rng(0).permutation(len(views.obs))
        assert (player.forward(views.obs[order])[0] == whole[order]).all()
        for size in (1, 2, 3, 7, 64):
            assert (player.forward(views.obs[5 : 5 + size])[0] == whole[5 : 5 + size]).all()

    @pytest.mark.parametrize("temperature", [0, 1.0])
    def test_action_depends_on_its_view_alone(self, folder, temperature, monkeypatch):
        player, views = NetworkPlayer(folder, temperature), views_of(RULES)
        whole = player.act(views)
        singles = [player.act(part(views, slice(k, k + 1)))[0] for k in range(100)]
        assert (whole[:100] == singles).all()
        monkeypatch.setattr("fives_env.players.network.CHUNK", 64)
        assert CHUNK > 300 and (player.act(views) == whole).all()

    def test_no_views(self, folder):
        assert NetworkPlayer(folder).act(part(views_of(RULES, 2), slice(0, 0))).shape == (0,)

    def test_temperature_draws_from_the_softmax(self, folder):
        views = views_of(RULES, 400)
        row = int(np.flatnonzero(views.mask.sum(1) >= 3)[0])
        n = 20_000
        keys = np.random.default_rng(1).integers(0, 2**63, n, dtype=np.uint64)
        rows = np.full(n, row)
        many = Views(RULES, views.obs[rows], views.mask[rows], views.records[rows], keys)
        hot = NetworkPlayer(folder, 20.0)
        actions = hot.act(many)
        logits = hot.forward(views.obs[row : row + 1])[0][0]
        odds = np.where(views.mask[row], np.exp((logits - logits.max()) / 20.0), 0)
        expected = odds / odds.sum()
        counts = np.bincount(actions, minlength=len(expected)) / n
        assert (counts[~views.mask[row]] == 0).all()
        np.testing.assert_allclose(counts, expected, atol=4.5 * 0.5 / np.sqrt(n))

    def test_cold_draws_are_the_best(self, folder):
        views = views_of(RULES)
        best = NetworkPlayer(folder).act(views)
        assert (NetworkPlayer(folder, 1e-6).act(views) == best).all()

    def test_plays_a_match_the_same_twice(self, folder):
        first, second = (
            evaluate(f"network:{folder}", "random", rules=RULES, pairs=50, seed=4, threads=threads)
            for threads in (1, 2)
        )
        assert (first.margin, first.rounds) == (second.margin, 100)
