"""Whole runs in small: what they leave, and what they do when they are stopped."""

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

from fives_env import Rules
from fives_env.engine import view
from fives_env.players import checkpoint
from fives_env.players.network import NetworkPlayer
from tests.short_runs import SMALL, failing, interrupt_at, run
from training import ppo, runs
from training.runs import STATE
from training.settings import HouseRules

ROOT = Path(__file__).parent.parent


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
            (
                lambda data: data.replace(b'"layout":"2"', b'"layout":"1"'),
                "is of another run: move it away",
            ),
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
