"""``fives bench``, and PettingZoo's own benchmark."""

import importlib
import json
import sys

import numpy as np
import pytest

from fives_env import Rules, fives_v0
from fives_env.bench import measure, own
from fives_env.bench.report import show
from fives_env.cli import main
from fives_env.engine import batch, state


def test_it_times_everything_and_says_what_is_missing(capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "pyspiel", None)
    assert main(["bench", "--quick", "--json"]) == 0
    report = json.loads(capsys.readouterr().out)
    rows = {(row["name"], row["tables"], row["threads"]): row for row in report["rows"]}
    assert len(rows) == len(report["rows"]) > 25
    for (name, _, threads), row in rows.items():
        absent = name.startswith("OpenSpiel")
        assert (row["missing"] is not None) == absent
        assert (row["per_second"] is None) == (row["per_cpu_second"] is None) == absent
        assert absent or (row["per_second"] > 0 and threads in (1, 2))
    ratios = {row["name"]: row for row in report["ratios"]}
    for name, row in ratios.items():
        assert (row["ratio"] is None) == ("OpenSpiel" in name)
    assert report["machine"]["cores"] and report["machine"]["libraries"]["numba"]

    show(report)
    shown = capsys.readouterr().out
    assert "absent" in shown and "SB3VecEnv" in shown and report["machine"]["processor"] in shown


def test_ratios_are_of_medians():
    def timed(name, tables, threads, *times):
        return measure.Contender(name, print, tables, threads, times=list(times))

    contenders = [
        timed("env", None, 1, (9.0, 1.0), (9.0, 2.0), (9.0, 9.0)),
        timed("PettingZoo connect_four env", None, 1, (1.0, 3.0)),
        timed("batch", 64, 1, (9.0, 1.0)),
        timed("batch", 4096, 1, (3.0, 1.1)),
        timed("batch", 64, 2, (5.0, 9.0)),
    ]
    ratios = {row["name"]: row["ratio"] for row in measure.ratios(contenders, (1, 64, 4096))}
    assert ratios.pop("env over PettingZoo connect_four env") == 1.5
    assert ratios.pop("batch: time per decision, 4096 tables over 64") == pytest.approx(1.1)
    assert ratios.pop("batch: two threads over one") == 9 / 5
    assert set(ratios.values()) == {None}


def test_decisions_are_steps_that_were_offered_a_placement():
    rules = Rules("muggins", muggins="any")
    record, tables = rules.record(), state.new_tables(3)
    batch.reset(tables, record, np.arange(3, dtype=np.uint64), 0, 0, 3)
    obs, scratch = np.zeros((0, 1), np.uint8), np.zeros(rules.n_actions, np.int32)
    mask = np.zeros((0, rules.n_actions), np.int8)
    steps = np.uint64(1), batch.NO_EVENTS, scratch, 0, 3
    # After a placement the mover is asked whether it announces: that is no decision to place.
    assert own.play(tables, record, obs, mask, 1, *steps) == 3
    assert own.play(tables, record, obs, mask, 1, *steps) == 0


@pytest.mark.parametrize(
    "bad", [["--seconds", "0"], ["--seconds", "nan"], ["--repeats", "0"], ["--repeats", "-3"]]
)
def test_refused_settings(bad, capsys):
    assert main(["bench", *bad]) == 2
    assert f"{bad[0][2:]} is" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore:The old environment creation API")
def test_pettingzoos_benchmark_runs(monkeypatch, capsys):
    module = importlib.import_module("pettingzoo.test.performance_benchmark")
    clock = iter(range(10**9))

    class Time:
        time = staticmethod(lambda: next(clock) / 10)  # 50 cycles in place of 5 seconds

    monkeypatch.setattr(module, "time", Time)
    module.performance_benchmark(fives_v0.env())
    assert "turns per second" in capsys.readouterr().out
