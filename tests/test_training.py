"""PPO: advantages over each seat's own decisions, settings, and whole runs in small."""

import contextlib
import dataclasses
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch")
import torch
import yaml
from stable_baselines3.common.vec_env import DummyVecEnv

from fives_env import Rules
from fives_env.engine import view
from fives_env.envs.sb3 import SB3VecEnv
from fives_env.envs.self_play import SelfPlay
from fives_env.envs.single import FivesEnv
from fives_env.players import checkpoint
from fives_env.players.network import NetworkPlayer
from training import ppo, runs, speed, tune_tactician
from training.ppo import Settings
from training.runs import STATE
from training.settings import HouseRules, as_yaml, read_settings

ROOT = Path(__file__).parent.parent
SMALL = Settings(
    tables=32, steps=16, minibatch=128, hidden=(16,), total_decisions=1024, matches=1, pairs=20
)


def advantages(delta, ended, seats, values, next_seats, next_values, gae_lambda):
    out = np.full(ended.shape, np.nan, np.float32)
    known = np.zeros(ended.shape, np.bool_)
    ppo.advantages(
        delta, ended, seats, values, next_seats, next_values, np.float32(gae_lambda), out, known
    )
    return out, known


def one_by_one(delta, ended, seats, values, next_seats, next_values, gae_lambda):
    """The same, table by table and seat by seat: its decisions in a row, then textbook GAE."""
    steps, tables, players = delta.shape
    out, known = np.zeros((steps, tables)), np.zeros((steps, tables), bool)
    for n in range(tables):
        for seat in range(players):
            mine = [t for t in range(steps) if seats[t, n] == seat]
            for at, t in enumerate(mine):
                total, weight = 0.0, 1.0
                for k in range(at, len(mine)):
                    here, then = mine[k], mine[k + 1] if k + 1 < len(mine) else steps
                    end = next((u for u in range(here, then) if ended[u, n]), None)
                    if end is not None:
                        reward, after = delta[here : end + 1, n, seat].sum(), 0.0
                    elif then < steps:
                        reward, after = delta[here:then, n, seat].sum(), values[then, n]
                    elif next_seats[n] == seat:
                        reward, after = delta[here:, n, seat].sum(), next_values[n]
                    else:
                        break  # what it leads to lies beyond the window
                    known[t, n] = True
                    total += weight * (reward + after - values[here, n])
                    weight *= gae_lambda
                    if end is not None:
                        break
                out[t, n] = total
    return out, known


def window(steps, tables, players, seed, end=0.1):
    """A window whose seats come in any order, the same one twice running too."""
    rng = np.random.default_rng(seed)
    return (
        rng.standard_normal((steps, tables, players)).astype(np.float32),
        rng.random((steps, tables)) < end,
        rng.integers(0, players, (steps, tables)),
        rng.standard_normal((steps, tables)).astype(np.float32),
        rng.integers(0, players, tables),
        rng.standard_normal(tables).astype(np.float32),
    )


class TestAdvantages:
    @pytest.mark.parametrize("players", [2, 3, 4])
    @pytest.mark.parametrize("gae_lambda", [0, 0.9, 1])
    @pytest.mark.parametrize("end", [0, 0.1, 0.5])
    def test_equal_the_obvious_way(self, players, gae_lambda, end):
        given = window(25, 40, players, players, end)
        assert (np.diff(given[2], axis=0) == 0).any()
        out, known = advantages(*given, gae_lambda)
        expected, expected_known = one_by_one(*given, gae_lambda)
        assert (known == expected_known).all()
        np.testing.assert_allclose(out, expected, atol=2e-5)
        assert (out[~known] == 0).all()

    @pytest.mark.parametrize(
        "options", [{"draw": "none"}, {"players": 3}, {"players": 4, "teams": True}]
    )
    def test_equal_the_obvious_way_in_play(self, options):
        game, steps, tables = SelfPlay(20, Rules(**options), seed=1), 60, 20
        rng = np.random.default_rng(0)
        delta = np.zeros((steps, tables, game.rules.players), np.float32)
        ended, seats = np.zeros((steps, tables), bool), np.zeros((steps, tables), np.int64)
        for t in range(steps):
            seats[t] = game.seats
            game.step(np.where(game.mask, rng.random(game.mask.shape), -1).argmax(1))
            delta[t], ended[t] = game.delta, game.ended
        again = (seats[1:] == seats[:-1]) & ~ended[:-1]
        assert ended.any() and again.any()
        values = rng.standard_normal((steps, tables)).astype(np.float32)
        given = delta, ended, seats, values, game.seats, values[0]
        for ours, theirs in zip(advantages(*given, 0.8), one_by_one(*given, 0.8), strict=True):
            np.testing.assert_allclose(ours, theirs, atol=1e-4)

    def test_settlement_reaches_every_seat_and_goes_no_further(self):
        """Four seats decide once; the last goes out, and each is paid its part."""
        delta = np.zeros((5, 1, 4), np.float32)
        delta[3, 0] = 3, -1, -1, -1
        delta[4, 0] = 7, 7, 7, 7  # the next round's
        ended = np.array([[False], [False], [False], [True], [False]])
        seats = np.array([[1], [2], [3], [0], [1]])
        values = np.zeros((5, 1), np.float32)
        out, known = advantages(
            delta, ended, seats, values, np.array([2]), np.array([9], np.float32), 1
        )
        assert out[:, 0].tolist() == [-1, -1, -1, 3, 0]
        assert known[:, 0].tolist() == [True, True, True, True, False]

    def test_moving_twice_running_splits_the_reward(self):
        delta = np.array([[[1, -1]], [[2, -2]], [[-4, 4]]], np.float32)
        seats = np.array([[0], [0], [1]])
        ended = np.array([[False], [False], [True]])
        out, _ = advantages(
            delta, ended, seats, np.zeros((3, 1), np.float32), np.array([0]), np.zeros(1, "f4"), 0
        )
        assert out[:, 0].tolist() == [1, 2 - 4, 4]

    def test_sum_to_the_return_without_values(self):
        """With lambda 1 and values of 0, an advantage is all that comes until the round ends."""
        delta, ended, seats, values, next_seats, next_values = window(40, 30, 3, 5)
        out, _ = advantages(delta, ended, seats, values * 0, next_seats, next_values * 0, 1)
        for n in range(30):
            for t in range(40):
                ends = np.flatnonzero(ended[t:, n])
                if len(ends):
                    total = delta[t : t + ends[0] + 1, n, seats[t, n]].sum()
                    assert out[t, n] == pytest.approx(total, abs=1e-4)


def learner_of(settings, dtype=torch.float32):
    learner = ppo.Learner(settings)
    learner.compute_in(dtype == torch.bfloat16)
    return learner


def log_softmax(logits, mask):
    return torch.log_softmax(logits.masked_fill(~torch.from_numpy(mask), -1e9), 1)


class TestLoss:
    @pytest.fixture(params=[torch.float32, torch.bfloat16], ids=["float32", "bfloat16"])
    def learner(self, request):
        """One that has learned a little, with a window that it has just played."""
        settings = dataclasses.replace(SMALL, threads=1, learning_rate=0.02, total_decisions=10**5)
        learner = learner_of(settings, request.param)
        for _ in range(3):
            learner.learn()
        learner.workers[0].play(3)
        return learner

    @pytest.fixture
    def worker(self, learner):
        return learner.workers[0]

    def close(self, worker, ours, theirs, atol=2e-5):
        coarse = worker.net.dtype == torch.bfloat16
        np.testing.assert_allclose(ours, theirs, atol=0.05 if coarse else atol)

    def loss(self, worker, batch):
        """The loss as it is written down, out of torch's own functions."""
        s = worker.settings
        obs, mask, actions, old_log_p, chosen, advantage, target = (
            torch.from_numpy(row[batch]) for row in worker.rows
        )
        assert (chosen == (mask.sum(1) > 1)).all()
        logits, values = worker.net.network(obs)
        log_p = log_softmax(logits, mask.numpy())
        ratio = (log_p.gather(1, actions[:, None])[:, 0] - old_log_p).exp()
        clipped = ratio.clamp(1 - s.clip, 1 + s.clip)
        gain = torch.min(ratio * advantage, clipped * advantage)
        entropy = -(log_p.exp() * log_p).sum(1)
        error = (values - target).square().mean()
        figures = {
            "value_error": error,
            "value_explained": 1 - error / target.var(correction=0),
            "entropy": entropy[chosen].mean(),
            "kl": (ratio - 1 - ratio.log())[chosen].mean(),
            "clipped": (ratio != clipped)[chosen].float().mean(),
        }
        loss = s.value_weight * error - (gain + s.entropy * entropy)[chosen].mean()
        return loss, {name: value.item() for name, value in figures.items()}

    def test_gradient_is_that_of_the_loss(self, learner, worker):
        """After a step of the weights too, when some ratios are clipped."""
        for _ in range(2):
            batch = worker.batches()[0]
            figures = dict(zip(ppo.FIGURES, worker.learn(batch), strict=True))
            expected = self.loss(worker, batch)[1]
            for name, value in expected.items():
                self.close(worker, figures[name], value)
            for weight in worker.net.weights:
                weight.requires_grad_()
            theirs = torch.autograd.grad(self.loss(worker, batch)[0], worker.net.weights)
            for mine, other in zip(worker.pass_.parts, theirs, strict=True):
                self.close(worker, mine, other)
                if other.numel() > 1:
                    angle = torch.cosine_similarity(mine.flatten(), other.flatten(), 0)
                    assert angle > 0.98
            for weight in worker.net.weights:
                weight.requires_grad_(False)
            for _ in range(3):
                learner._update()
        assert figures["clipped"] > 0.05

    def test_record_is_of_the_decisions_made(self, worker):
        """Each recorded action is legal, and its probability that of the network on its view."""
        steps, n = worker.actions.shape
        obs = torch.from_numpy(worker.obs.reshape(steps * n, -1))
        mask = worker.mask.reshape(steps * n, -1)
        chosen = worker.actions.ravel()
        assert mask[np.arange(steps * n), chosen].all()
        with torch.no_grad():
            logits, values = worker.net.network(obs)
        picked = log_softmax(logits, mask)[np.arange(steps * n), chosen]
        self.close(worker, worker.log_p.ravel(), picked)
        self.close(worker, worker.values.ravel(), values)

    def test_forced_decisions_train_only_the_value(self, worker):
        forced = (worker.mask.sum(2) == 1) & worker.known
        assert forced.any()
        worker.learn(np.flatnonzero(forced))
        head, greed = worker.pass_.parts[2], worker.pass_.parts[-1]
        assert (head[:-1] == 0).all() and (head[-1] != 0).any() and greed == 0

    def test_sampling_follows_the_probabilities(self):
        """At many tables with one deal, the shares of the actions are their probabilities."""
        settings = dataclasses.replace(SMALL, tables=20_000, steps=1, threads=1)
        worker = learner_of(settings).workers[0]
        for array in (worker.game.obs, worker.game.mask, worker.game.tables, worker.game.seats):
            array[:] = array[0]
        worker.play(0)
        logits = worker.net.network(torch.from_numpy(worker.obs[0, :1]))[0]
        p = log_softmax(logits, worker.mask[0, :1])[0].exp()
        shares = np.bincount(worker.actions[0], minlength=118) / 20_000
        np.testing.assert_allclose(shares, p.detach(), atol=4.5 * 0.5 / np.sqrt(20_000))


class TestSettings:
    def refused(self, capsys, *arguments):
        with pytest.raises(SystemExit) as stopped:
            sys.exit(ppo.main(arguments))
        assert stopped.value.code == 2
        said = capsys.readouterr()
        assert "Traceback" not in said.err + said.out
        return " ".join(said.err.replace("│", " ").split())

    def in_yaml(self, capsys, tmp_path, text):
        path = tmp_path / "some.yaml"
        path.write_text(text)
        said = self.refused(capsys, "--config", str(path), "--folder", str(tmp_path / "run"))
        assert said.endswith(".") and not (tmp_path / "run").exists()
        return said

    @pytest.mark.parametrize(
        ("text", "said"),
        [
            ("sede: 3", "setting is 'sede', but must be one of 'config', 'folder', 'rules'"),
            ("rules: {player: 3}", "rule is 'player', but must be one of 'preset', 'players'"),
            ("rules: {players: 5}", "players is 5, but must be one of 2, 3, 4."),
            ("rules: {tiles: 15}", "tiles is 15, but must be a whole number from 1 to 14."),
            ("rules: 3", "rules is 3, but must be a mapping of options."),
            ("seed: 1.5", "seed is 1.5, but must be a whole number."),
            ("seed: true", "seed is True, but must be a whole number."),
            ("seed: -1", "seed is -1, but must be at least 0."),
            ("seed: 9223372036854775808", "but must be at most 9223372036854775807."),
            ("tables: 10000001", "tables is 10000001, but must be at most 10000000."),
            ("learning_rate: fast", "learning_rate is 'fast', but must be a number like 0.001."),
            ("learning_rate: .nan", "learning_rate is nan, but must be from 0 to 1000000000000."),
            ("learning_rate: .inf", "learning_rate is inf, but must be at most 1000000000000."),
            ("gae_lambda: 1.5", "gae_lambda is 1.5, but must be from 0 to 1."),
            ("average: 2", "average is 2.0, but must be from 0 to 1."),
            ("hidden: 256", "hidden is 256, but must be a list of whole numbers."),
            ("hidden: [0]", "hidden is (0,), but must be one number of units for each of 1 to 16"),
            ("hidden: []", "layers, from 1 to 4096."),
            ("hidden: [4097]", "hidden is (4097,), but must be one number of units for each"),
            (f"learning_rate: 1{'0' * 400}", "but must be at most 1000000000000."),
            (f"total_decisions: 1{'0' * 400}", "but must be at most 1000000000000."),
            (f"steps: 1{'0' * 5000}", "is no YAML: "),
            ("folder: 2026-02-30", "is no YAML: "),
            ("pairs: 1000000001", "pairs is 1000000001, but must be at most 1000000000."),
            ("threads: 1025", "threads is 1025, but must be at most 1024."),
            ("threads: 0", "threads is 0, but must be at least 1."),
            ("threads: 3", "tables is 1024, but must be a multiple of threads=3."),
            ("- 1", "but must be a mapping of settings."),
            ("seed: [", "is no YAML: "),
        ],
    )
    def test_bad_file(self, capsys, tmp_path, text, said):
        assert said in self.in_yaml(capsys, tmp_path, text)

    def test_no_file(self, capsys):
        said = self.refused(capsys, "--config", "none.yaml")
        assert said == "config 'none.yaml' cannot be read: No such file or directory."

    def test_file_that_is_no_text(self, capsys, tmp_path):
        (tmp_path / "some.yaml").write_bytes(b"seed: 1 # \xe9")
        said = self.refused(capsys, "--config", str(tmp_path / "some.yaml"))
        assert said.endswith("some.yaml' is no text in UTF-8.")
        assert "config 'a\\x00b' cannot be read" in self.refused(capsys, "--config", "a\0b")

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--folder", "/"], "folder is '/', but must be new, empty or that of an earlier run."),
            (["--folder", "a\0b"], "folder is 'a\\x00b', but must be a path."),
            (["--rules.players", "5"], "invalid choice '5'"),
            (["--rules.players", "3", "--rules.teams", "True"], "teams is True, but must be False"),
            (["--pairs", "1"], "pairs is 1, but must be at least 2."),
            (["--seed", "one"], "--seed"),
            (["--sede", "1"], "--sede"),
        ],
    )
    def test_bad_arguments(self, capsys, arguments, said):
        assert said in self.refused(capsys, *arguments)

    def test_folder_of_something_else(self, capsys, tmp_path):
        (tmp_path / "mine.txt").write_text("")
        said = self.refused(capsys, "--folder", str(tmp_path))
        assert said.endswith("but must be new, empty or that of an earlier run.")

    def test_folder_that_cannot_be_made(self, capsys, tmp_path):
        (tmp_path / "file").write_text("")
        said = self.refused(capsys, "--folder", str(tmp_path / "file" / "run"))
        assert said.endswith("but must be in a folder, which a file is not.")

    def test_folder_that_another_process_writes(self, capsys, tmp_path):
        with runs.only_here(tmp_path / "run"):
            said = self.refused(capsys, "--folder", str(tmp_path / "run"))
        assert said.endswith("but must be one that no other run is writing.")
        said = self.refused(capsys, "--folder", "/proc/none")
        assert said.endswith("but must be where files can be written.")
        assert not (tmp_path / "run").exists()

    def test_what_does_not_fit_leaves_the_earlier_run(self, capsys, tmp_path, monkeypatch):
        run(dataclasses.replace(SMALL, matches=0), tmp_path / "run")
        before = sorted(path.name for path in tmp_path.rglob("*"))
        for error in (MemoryError("4 EiB"), OSError(28, "No space left on device")):
            monkeypatch.setattr(ppo, "Learner", failing(error))
            said = self.refused(capsys, "--folder", str(tmp_path / "run"))
            assert error.args[-1] in said and said.endswith(".") and "Errno" not in said
        (tmp_path / "run.lock").unlink()
        assert sorted(path.name for path in tmp_path.rglob("*")) == before

    def test_file_then_command_line(self, tmp_path, monkeypatch):
        path = tmp_path / "some.yaml"
        path.write_text("seed: 4\nlearning_rate: 1\nrules: {players: 3, muggins: 'any'}\n")
        seen = []
        monkeypatch.setattr(ppo, "train", lambda *given: seen.append(given))
        monkeypatch.chdir(tmp_path)
        assert ppo.main(["--config", str(path), "--rules.players", "4", "--hidden", "8", "9"]) == 0
        settings, _ = seen[0]
        assert runs.folder_of(settings, "ppo") == Path("runs/some")
        assert (settings.seed, settings.learning_rate, settings.hidden) == (4, 1.0, (8, 9))
        assert settings.table_rules == Rules(players=4, muggins="any")

    @pytest.mark.parametrize("name", ["demo", "ppo"])
    def test_files_of_the_repository(self, name):
        settings = read_settings(
            Settings, str(Path(__file__).parent.parent / "configs" / f"{name}.yaml")
        )
        settings.check()
        assert settings.table_rules == Rules()

    def test_saved_settings_are_a_config(self, tmp_path):
        settings = dataclasses.replace(SMALL, rules=HouseRules(players=3, muggins="off"))
        (tmp_path / "settings.yaml").write_text(as_yaml(settings, {"torch": "2"}))
        read = read_settings(Settings, str(tmp_path / "settings.yaml"))
        assert dataclasses.replace(read, config="") == settings


def run(settings, folder):
    settings.check()
    ppo.train(dataclasses.replace(settings, folder=str(folder)))
    return checkpoint.load(folder)


def failing(error):
    def fail(*_, **__):
        raise error

    return fail


def interrupt_at(monkeypatch, where, name, number, error=KeyboardInterrupt):
    """Let the call of that number raise; the monkeypatch's context ends it."""
    work, calls = getattr(where, name), []

    def interrupted(*args, **kwargs):
        calls.append(name)
        if len(calls) == number:
            raise error
        return work(*args, **kwargs)

    monkeypatch.setattr(where, name, interrupted)


class TestRun:
    @pytest.mark.parametrize(
        "rules", [{}, {"players": 3, "muggins": "any"}, {"players": 4, "teams": True}]
    )
    def test_leaves_a_player_and_its_story(self, tmp_path, rules):
        settings = dataclasses.replace(SMALL, rules=HouseRules(**rules), matches=2)
        folder = tmp_path / "run"
        _, card = run(settings, folder)
        assert card["rules"] == Rules(**rules).to_dict()
        assert card["settings"]["hidden"] == [16] and card["decisions"] == 1024
        assert card["versions"]["torch"] == torch.__version__
        assert [(r["b"], r["pairs"]) for r in card["results"]] == [
            ("greedy", 20),
            ("tactician", 20),
        ]
        lines = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
        assert [line["decisions"] for line in lines] == [1024]
        figures = {"kl", "clipped", "rounds", "seconds_playing", "seconds_learning"}
        figures |= {"seconds_judging", "against_greedy", "against_tactician"}
        assert figures | set(ppo.FIGURES) <= lines[0].keys()
        assert not (folder / STATE).exists()
        assert all(np.isfinite(list(line.values())).all() for line in lines)
        assert yaml.safe_load((folder / "settings.yaml").read_text())["seed"] == 0
        assert list(folder.glob("events.out.tfevents.*"))

    def test_same_seed_same_weights(self, tmp_path):
        runs = [
            run(dataclasses.replace(SMALL, seed=seed, matches=0), tmp_path / name)[0]
            for seed, name in ((5, "a"), (5, "b"), (6, "c"))
        ]
        for name, weights in runs[0].items():
            assert (weights == runs[1][name]).all()
        assert (runs[0]["layers.0.weight"] != runs[2]["layers.0.weight"]).any()

    def test_first_decisions_are_learned_from(self, tmp_path):
        """It begins about as good as greedy, and soon is better."""
        settings = dataclasses.replace(
            SMALL, tables=256, steps=32, minibatch=512, hidden=(64,), total_decisions=200_000,
            pairs=1500, learning_rate=2e-3,
        )  # fmt: skip
        _, card = run(settings, tmp_path / "run")
        assert card["results"][0]["low"] > 0

    def test_earlier_run_is_moved_aside(self, tmp_path, capsys):
        folder = tmp_path / "run"
        arguments = ["--folder", str(folder), "--tables", "8", "--steps", "8", "--matches", "0"]
        arguments += ["--total-decisions", "64", "--hidden", "8"]
        folder.mkdir()
        (folder / "settings.yaml.new").write_text("cut sho")  # killed at its very beginning
        for seed in ("1", "2", "3"):
            assert ppo.main([*arguments, "--seed", seed]) == 0
        seeds = [checkpoint.load(tmp_path / name)[1]["seed"] for name in ("run", "run-1", "run-2")]
        assert seeds == [3, 1, 2]
        assert f"The earlier {folder} is now {folder}-2." in capsys.readouterr().out

    def test_killed_at_any_moment_ends_with_the_same_weights(self, tmp_path):
        """SIGKILL at three random moments; each time the same command is given again."""
        arguments = ["--tables", "64", "--steps", "16", "--minibatch", "256", "--matches", "0"]
        arguments += ["--total-decisions", str(1024 * 300), "--hidden", "32"]

        def command(name):
            script = [sys.executable, "-m", "training.ppo", "--folder", str(tmp_path / name)]
            return [*script, *arguments]

        subprocess.run(command("whole"), cwd=ROOT, check=True, capture_output=True)
        chance, goes_on = random.Random(time.time()), 0
        kept = tmp_path / "parts" / STATE
        for number in range(4):
            process = subprocess.Popen(command("parts"), cwd=ROOT, stdout=subprocess.PIPE)
            before = kept.stat().st_mtime_ns if kept.exists() else 0
            while number < 3 and process.poll() is None:
                if kept.exists() and kept.stat().st_mtime_ns != before:
                    time.sleep(chance.random() / 5)
                    os.kill(process.pid, signal.SIGKILL)
                    break
                time.sleep(0.002)
            said = process.communicate()[0].decode()
            goes_on += "Going on with the run" in said
            if process.returncode == 0:
                break
        assert "Trained for 307,200 decisions" in said and goes_on >= 1
        files = [
            (tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")
        ]
        assert files[0] == files[1]
        rows = [json.loads(line) for line in (tmp_path / "parts/metrics.jsonl").open()]
        assert [row["decisions"] for row in rows] == list(range(5120, 307_201, 5120))

    def test_ctrl_c_saves_and_says_so(self, tmp_path, monkeypatch):
        """The signal comes in the third window; the two before it are learned."""
        folder = tmp_path / "run"
        settings = dataclasses.replace(SMALL, total_decisions=10**9, matches=0, folder=str(folder))
        learn, begun = ppo.Learner.learn, []

        def interrupted(learner):
            begun.append(learner)
            if len(begun) == 3:
                signal.default_int_handler(signal.SIGINT, None)  # even where Ctrl-C is ignored
            return learn(learner)

        monkeypatch.setattr(ppo.Learner, "learn", interrupted)
        said = ppo.train(settings)
        decisions = checkpoint.load(folder)[1]["decisions"]
        assert said.startswith("Stopped after 1,024 decisions") and decisions == 1024
        player = NetworkPlayer(folder)
        assert player.forward(np.zeros((1, view.size(Rules())), np.uint8))[0].shape == (1, 118)

    def test_ctrl_c_before_it_begins(self, tmp_path, capsys, monkeypatch):
        monkeypatch.setattr(ppo, "Learner", failing(KeyboardInterrupt))
        assert ppo.main(["--folder", str(tmp_path / "run")]) == 0
        assert capsys.readouterr().out == "Stopped before anything was learned.\n"

    @pytest.fixture
    def stopped(self, tmp_path):
        """Arguments of a run, of six lines and a match, that was stopped after the first line."""
        arguments = ["--tables", "8", "--steps", "8", "--hidden", "8", "--minibatch", "64"]
        arguments += ["--total-decisions", str(64 * 30), "--matches", "1", "--pairs", "4"]
        arguments += ["--folder", str(tmp_path / "run")]
        with pytest.MonkeyPatch.context() as patch:
            interrupt_at(patch, ppo.Learner, "learn", 8)
            assert ppo.main(arguments) == 0
        assert (tmp_path / "run" / STATE).exists()
        return arguments

    @pytest.mark.parametrize(("where", "name"), [(runs.Log, "__enter__"), (ppo.Learner, "save")])
    def test_ctrl_c_at_other_moments(self, tmp_path, stopped, capsys, monkeypatch, where, name):
        """Right after it goes on; and while it saves, after another one."""
        interrupt_at(monkeypatch, ppo.Learner, "learn", 3)
        interrupt_at(monkeypatch, where, name, 1)
        assert ppo.main(stopped) == 0
        said = capsys.readouterr().out.splitlines()[-1]
        assert said == f"Stopped: the same command goes on with the run in {tmp_path / 'run'}."

    @pytest.mark.parametrize(
        ("where", "name", "number", "error"),
        [(runs, "match", 2, KeyboardInterrupt), (ppo.Learner, "save", 2, SystemExit)],
    )
    def test_last_judging_is_kept(self, tmp_path, stopped, capsys, where, name, number, error):
        """Ctrl-C in the last match; and killed after it, before all is saved."""
        with pytest.MonkeyPatch.context() as patch, contextlib.suppress(SystemExit):
            interrupt_at(patch, where, name, number, error)
            ppo.main(stopped)
        assert "Trained for" not in capsys.readouterr().out
        assert (tmp_path / "run" / STATE).exists()
        assert ppo.main(stopped) == 0
        assert "Trained for 1,920 decisions" in capsys.readouterr().out
        card = checkpoint.load(tmp_path / "run")[1]
        assert [result["b"] for result in card["results"]] == ["greedy", "tactician"]

    @pytest.mark.parametrize(
        ("change", "said"),
        [
            (lambda data: data[:-9], "cannot be read: delete it to begin again."),
            (lambda data: b"", "cannot be read: delete it to begin again."),
            (lambda data: data.replace(b"seed: 0", b"seed: 9"), "is of another run: move it away"),
        ],
    )
    def test_state_that_is_not_its_own(self, tmp_path, stopped, capsys, change, said):
        folder = tmp_path / "run"
        (folder / STATE).write_bytes(change((folder / STATE).read_bytes()))
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        assert ppo.main(stopped) == 2
        assert said in capsys.readouterr().err
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before

    def test_full_disk_leaves_what_was_there(self, tmp_path, stopped, capsys, monkeypatch):
        """A file is on the disk whole, or as it was."""
        folder = tmp_path / "run"
        before = {path.name: path.read_bytes() for path in folder.iterdir()}
        full = OSError(28, "No space left on device")
        with monkeypatch.context() as patch:
            patch.setattr(Path, "write_bytes", failing(full))
            assert ppo.main(stopped) == 2
        assert "cannot be read or written: No space left on device." in capsys.readouterr().err
        assert {path.name: path.read_bytes() for path in folder.iterdir()} == before
        assert ppo.main(stopped) == 0 and "Going on with the run" in capsys.readouterr().out

    def test_diverged_run_is_stopped(self, tmp_path, capsys):
        arguments = ["--tables", "8", "--steps", "8", "--hidden", "8", "8", "--matches", "0"]
        arguments += ["--folder", str(tmp_path / "run"), "--minibatch", "16"]
        assert ppo.main([*arguments, "--learning-rate", "1e12", "--total-decisions", "640"]) == 2
        said = capsys.readouterr().err
        assert "the run has diverged after 320 decisions: " in said
        assert said.endswith("Try a smaller learning_rate.\n")
        assert not (tmp_path / "run" / STATE).exists()

    def test_speed_plays_what_it_counts(self, monkeypatch):
        seen = []
        monkeypatch.setattr(ppo, "Learner", seen.append)
        for threads in (1, 3, 1000):
            speed.ours(threads)
        assert [(s.tables, s.tables % s.threads) for s in seen] == [(1024, 0), (1023, 0), (1000, 0)]

    def test_speed_stops_at_ctrl_c(self, monkeypatch, capsys):
        monkeypatch.setattr(speed, "ours", failing(KeyboardInterrupt))
        assert speed.main([]) == 0
        assert capsys.readouterr().out == "Stopped.\n"

    @pytest.mark.parametrize(
        ("arguments", "said"),
        [
            (["--generations", "0"], "generations is 0, but must be at least 1."),
            (["--seed", str(2**63)], "but must be at most 9223372036854775806."),
            (["--teams"], "teams is True, but must be False with 2 players."),
        ],
    )
    def test_tuning_refuses(self, capsys, arguments, said):
        assert tune_tactician.main(arguments) == 2
        assert said in capsys.readouterr().err

    def test_speed_says_how_many_times(self, monkeypatch, capsys):
        learners = {"ours": lambda: 9_000, "usual": lambda: 100, "batch": lambda: 600}
        monkeypatch.setattr(speed, "contenders", lambda threads: learners)
        monkeypatch.setattr(speed, "speed", lambda learn, seconds: learn())
        assert speed.main([]) == 0
        lines = capsys.readouterr().out.splitlines()
        assert [line.split()[:2] for line in lines] == [
            ["ours", "9,000"],
            ["usual", "100"],
            ["batch", "600"],
        ]
        assert "90.0 times" in lines[1] and "15.0 times" in lines[2]
        assert speed.main(["--turns", "0"]) == 2
        assert "turns is 0, but must be at least 1." in capsys.readouterr().err

    def test_speed_learns_from_all_three_ways_of_playing(self):
        """A little, on the environments that are compared."""
        for env in (DummyVecEnv([lambda: FivesEnv(opponents="greedy")] * 2), SB3VecEnv(2)):
            assert speed.theirs(1, env)() == 2 * 2048

    def test_help_names_every_setting(self, capsys):
        with pytest.raises(SystemExit):
            ppo.main(["--help"])
        text = capsys.readouterr().out
        for field in dataclasses.fields(Settings):
            assert f"--{field.name.replace('_', '-')}" in text
        assert "--rules.players" in text
