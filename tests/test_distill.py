"""Values of actions by regression: labels, the loss, whole runs in small, and exact resume."""

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

from fives_env import Rules
from fives_env.players import checkpoint
from fives_env.players.features import SEES
from fives_env.players.values import UNIT, no_net
from training import distill, labels
from training.distill import Learner, Settings
from training.runs import STATE
from training.settings import HouseRules, read_settings

ROOT = Path(__file__).parent.parent
SMALL = Settings(
    tables=32, hidden=(16, 8), total_decisions=32 * 40, steps=10, matches=0, pairs=20, threads=2
)


class TestLoss:
    def test_slopes_are_those_of_the_loss(self):
        """As torch finds them, of the loss as its docstring puts it."""
        rng = np.random.default_rng(0)
        starts = np.array([0, 2, 7, 10])
        values, targets = rng.standard_normal((2, 10)).astype(np.float32)
        slope = np.zeros(10, np.float32)
        q = torch.tensor(values, requires_grad=True)
        loss, apart, together = 0, [], []
        for lo, hi in ((0, 2), (2, 7), (7, 10)):
            miss = q[lo:hi] - torch.tensor(targets[lo:hi])
            apart.append((miss - miss.mean()).square())
            together.append(miss.mean().square())
            # Half squares, summed over a decision's actions, have the slopes that are written.
            loss = loss + apart[-1].sum() / 2 + 0.3 * together[-1] / 2
        figures = labels.slopes(values, targets, starts, 0.3, slope)
        np.testing.assert_allclose(slope, torch.autograd.grad(loss / 3, q)[0], atol=1e-6)
        assert figures[0] == pytest.approx(np.mean([a.mean().item() for a in apart]), rel=1e-5)
        assert figures[1] == pytest.approx(np.mean([t.item() for t in together]), rel=1e-5)


class TestLabels:
    @pytest.fixture
    def learner(self):
        return Learner(SMALL)

    def gathered(self, learner, kind, turns, net=None):
        worker = learner.workers[0]
        before = worker.tables[0].copy()
        m = worker.gather(learner.net, net or learner.player, kind, False, turns, 2.0, 5)
        return worker, before, m

    def test_every_action_of_every_decision(self, learner):
        worker, _, m = self.gathered(learner, 2, -1)
        counts = np.diff(worker.starts)
        assert (counts >= 2).all() and worker.starts[-1] == m
        assert (worker.owner[:m] == np.repeat(np.arange(len(counts)), counts)).all()
        tile = worker.planes[:m, :28]
        assert (tile.sum(1) == 1).all()
        assert worker.targets[:m].std() > 5

    def test_targets_are_what_the_round_brings(self, learner):
        """Played out to the end they are whole points; judged at once they are the network's."""
        worker, _, m = self.gathered(learner, 2, -1)
        assert (worker.targets[:m] == np.round(worker.targets[:m])).all()
        worker, _, m = self.gathered(learner, 2, 0)
        assert (worker.targets[:m] != np.round(worker.targets[:m])).mean() > 0.5

    def test_versus_a_player_only_the_other_sides_decisions_are_written(self, learner):
        worker = learner.workers[0]
        for _ in range(3):
            worker.gather(learner.net, learner.player, 2, True, -1, 2.0, 5)
            m = int(worker.starts[-1])
            assert (worker.targets[:m] == np.round(worker.targets[:m])).all()
        record = worker.tables[0]["turn"][worker.tables[0]["phase"] == 0]
        assert len(record) > 0

    def test_a_teachers_values_are_the_networks_own(self, learner):
        """A network that teaches itself has nothing to learn."""
        worker = learner.workers[0]
        worker.gather(learner.net, learner.net, labels.TEACHER, False, -1, 2.0, 5)
        m = int(worker.starts[-1])
        inputs = (worker.shared, worker.planes[:m], worker.scalars[:m], worker.owner[:m])
        with torch.no_grad():
            q = learner.network(*map(torch.from_numpy, inputs)).numpy() * UNIT
        np.testing.assert_allclose(q, worker.targets[:m], atol=1e-3)

    def test_no_net_is_no_player(self):
        assert len(no_net().bias) == 0


def run(settings, folder):
    settings = dataclasses.replace(settings, folder=str(folder))
    settings.check()
    said = distill.train(settings)
    return said, *checkpoint.load(folder)


class TestRun:
    @pytest.mark.parametrize(
        "changes",
        [
            {"matches": 1},
            {"sees": "scalars", "rules": HouseRules(players=3)},
            {"alone": 0.5, "turns": 2, "rules": HouseRules(players=4, teams=True)},
            {"rules": HouseRules(muggins="any")},
            {"seatings": "3,4,partners", "alone": 0.7},
        ],
    )
    def test_leaves_a_player_and_its_story(self, tmp_path, changes):
        settings = dataclasses.replace(SMALL, **changes)
        said, weights, card = run(settings, tmp_path / "run")
        assert said.startswith("Trained for 1,280 decisions in ")
        assert card["rules"] == settings.table_rules.to_dict() and card["decisions"] == 1280
        assert len(weights["planes"]) == SEES[settings.sees]
        assert all(np.isfinite(w).all() for w in weights.values())
        lines = (tmp_path / "run" / "metrics.jsonl").read_text().splitlines()
        assert [json.loads(line)["decisions"] for line in lines] == [320, 640, 960, 1280]
        assert ("against_tactician" in lines[-1]) == (settings.matches > 0)
        assert not (tmp_path / "run" / STATE).exists()
        assert list((tmp_path / "run").glob("events.out.tfevents.*"))

    def test_learns(self, tmp_path):
        """From play-outs, then distilled into scalars only, it wins from greedy."""
        settings = dataclasses.replace(
            SMALL, tables=64, hidden=(32, 16), total_decisions=64 * 400, matches=1, pairs=500
        )
        card = run(settings, tmp_path / "duel")[2]
        assert card["results"][0]["low"] > 10
        settings = dataclasses.replace(settings, teacher=str(tmp_path / "duel"), sees="scalars")
        card = run(settings, tmp_path / "tiny")[2]
        assert card["results"][0]["low"] > 10

    def test_same_seed_same_weights(self, tmp_path):
        settings = [dataclasses.replace(SMALL, seed=seed) for seed in (5, 5, 6)]
        a, b, c = (run(s, tmp_path / str(k))[1] for k, s in enumerate(settings))
        assert all((a[name] == b[name]).all() for name in a)
        assert (a["planes"] != c["planes"]).any()

    def test_begins_with_given_weights(self, tmp_path):
        weights = run(SMALL, tmp_path / "first")[1]
        settings = dataclasses.replace(SMALL, start=str(tmp_path / "first"))
        learner = Learner(settings)
        for name, weight in weights.items():
            assert (learner.weights[name].detach().numpy() == weight).all()


class TestResume:
    def test_killed_at_any_moment_ends_with_the_same_weights(self, tmp_path):
        """SIGKILL or SIGTERM at random moments; each time the same command is given again."""
        arguments = ["--tables", "16", "--steps", "5", "--matches", "0", "--hidden", "16", "8"]
        arguments += ["--total-decisions", str(16 * 400), "--alone", "0.5"]

        def command(name):
            script = [sys.executable, "-m", "training.distill", "--folder", str(tmp_path / name)]
            return [*script, *arguments]

        subprocess.run(command("whole"), cwd=ROOT, check=True, capture_output=True)
        chance, goes_on = random.Random(time.time()), 0
        for number in range(40):
            process = subprocess.Popen(
                command("parts"), cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE
            )
            kept = tmp_path / "parts" / STATE
            before = kept.stat().st_mtime_ns if kept.exists() else 0
            while number < 3 and process.poll() is None:
                if kept.exists() and kept.stat().st_mtime_ns != before:
                    time.sleep(chance.random() / 5)
                    os.kill(process.pid, chance.choice([signal.SIGKILL, signal.SIGTERM]))
                    process.wait()
                time.sleep(0.002)
            said = process.communicate()[0].decode()
            goes_on += "Going on with the run" in said
            if process.returncode == 0:
                break
        assert "Trained for 6,400 decisions" in said and goes_on >= 1
        files = [
            (tmp_path / name / "model.safetensors").read_bytes() for name in ("whole", "parts")
        ]
        assert files[0] == files[1]
        rows = [json.loads(line) for line in (tmp_path / "parts/metrics.jsonl").open()]
        assert [row["decisions"] for row in rows] == list(range(80, 6401, 80))

    def test_other_settings_begin_afresh(self, tmp_path, monkeypatch, capsys):
        learn, count = Learner.learn, []

        def interrupted(learner):
            count.append(0)
            if len(count) == 15:
                signal.default_int_handler(signal.SIGINT, None)  # even where Ctrl-C is ignored
            return learn(learner)

        monkeypatch.setattr(Learner, "learn", interrupted)
        said, _, card = run(SMALL, tmp_path / "run")
        assert said.startswith("Stopped after ") and card["decisions"] in (320, 448)
        assert (tmp_path / "run" / STATE).exists()
        run(dataclasses.replace(SMALL, seed=2), tmp_path / "run")
        assert "is now" in capsys.readouterr().out
        assert (tmp_path / "run-1" / STATE).exists()


class TestSettings:
    @pytest.mark.parametrize(
        ("changes", "said"),
        [
            ({"hidden": (3,)}, "hidden is (3,), but must be two numbers of units, from 1 to 4096."),
            ({"playouts": "deep"}, "playouts is 'deep', but must be one of 'random', "),
            ({"hidden": (10**9, 4)}, "but must be two numbers of units, from 1 to 4096."),
            ({"playouts": "tiny:"}, "playouts is 'tiny:', but must be one of 'random', "),
            ({"start": "tiny"}, "hidden is (16, 8), but must be (32, 16) as in start=tiny."),
            (
                {"start": "tiny", "hidden": (32, 16)},
                "sees is 'plays', but must be 'tiles' as in start=tiny.",
            ),
            ({"teacher": "tiny", "versus": True}, "versus is True, but must be False where there"),
            ({"seed": 2**63}, "but must be at most 9223372036854775807."),
            ({"turns": 2**63}, "but must be at most 1000000000000."),
            ({"threads": 1025}, "threads is 1025, but must be at most 1024."),
            ({"tables": 10**8}, "tables is 100000000, but must be at most 10000000."),
            ({"teacher": "none"}, "checkpoint is 'none', but must be a folder"),
            ({"start": "none"}, "checkpoint is 'none', but must be a folder"),
            ({"alone": 2.0}, "alone is 2.0, but must be from 0 to 1."),
            ({"seatings": "2,5"}, "seatings is '2,5', but must be out of 2, 3, 4, partners."),
            ({"tables": 33}, "tables is 33, but must be a multiple of threads=2."),
            ({"turns": -1}, "turns is -1, but must be at least 0."),
            ({"learning_rate": float("inf")}, "learning_rate is inf, but must be at most"),
        ],
    )
    def test_refusals(self, changes, said):
        with pytest.raises(ValueError) as error:
            dataclasses.replace(SMALL, **changes).check()
        assert said in str(error.value) and str(error.value).endswith(".")

    @pytest.mark.parametrize("more", [[], ["--versus", "--seatings", "2,3"]])
    def test_game_without_choices(self, tmp_path, capsys, more):
        arguments = [
            "--rules.tiles",
            "1",
            "--rules.draw",
            "none",
            "--folder",
            str(tmp_path / "run"),
        ]
        assert distill.main([*arguments, *more]) == 2
        said = capsys.readouterr().err
        assert said.endswith("100,000 rounds under these rules went by without a choice.\n")
        assert not (tmp_path / "run").exists()

    def test_largest_seed(self, tmp_path):
        run(dataclasses.replace(SMALL, seed=2**63 - 1, total_decisions=96), tmp_path / "run")

    def test_refused_on_the_command_line(self, capsys):
        assert distill.main(["--playouts", "deep"]) == 2
        assert "playouts is 'deep'" in capsys.readouterr().err

    @pytest.mark.parametrize("name", ["duel", "tiny", "table"])
    def test_files_of_the_repository(self, name, monkeypatch):
        monkeypatch.chdir(ROOT)
        settings = read_settings(Settings, str(ROOT / "configs" / f"{name}.yaml"))
        settings.check()
        assert settings.table_rules == Rules(players=3 if name == "table" else 2)
