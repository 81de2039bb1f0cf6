"""Ladders, power and reports: what is printed, drawn and refused."""

import json
import warnings

import numpy as np
import pytest

from fives_env.arena import charts, report
from fives_env.arena.tournament import tournament
from fives_env.cli import main
from fives_env.flags import json_of
from tests.tournaments import PLAYERS, plan_file, refused, small


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """The bytes of a tournament that nothing interrupted."""
    path = tmp_path_factory.mktemp("whole") / "results.jsonl"
    tournament(small(path, rules=["all_fives", {"players": 3}]))
    return path.read_bytes()


def test_the_ladder_prints_every_margin(capsys):
    assert main(["ladder", *PLAYERS, "--rounds", "400", "--json"]) == 0
    rungs = json.loads(capsys.readouterr().out)
    assert [rung["name"] for rung in rungs] == PLAYERS
    for i, rung in enumerate(rungs):
        assert rung["margins"][i] is None and 0 < rung["micros"] < 1000
        for j, margin in enumerate(rung["margins"]):
            if i > j:
                assert margin[1] > 0 and margin[0] == -rungs[j]["margins"][i][0]
    assert main(["ladder", "greedy", "endgame", "--rounds", "40"]) == 0
    assert "±" in capsys.readouterr().out


def test_power_says_how_many_rounds(capsys):
    assert main(["power", "greedy", "tactician", "--margin", "1"]) == 0
    out = capsys.readouterr().out
    assert "spreads by 2" in out and "for 80% power" in out
    assert main(["power", "greedy", "tactician", "--rounds", "20000"]) == 0
    assert "20,000 rounds show 0." in capsys.readouterr().out


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["power", "greedy", "random", "--margin", "0"], "margin is 0.0"),
        (["power", "greedy", "random", "--power", "1"], "power is 1.0"),
        (["power", "greedy", "random", "--rounds", "1"], "rounds is 1"),
        (["ladder", "greedy"], "players is ['greedy']"),
        (["ladder", "greedy", "random", "--rounds", "2"], "rounds is 2"),
        (["evaluate", "greedy", "random", "--sprt", "1", "0"], "sprt is (1.0, 0.0)"),
        (["evaluate", "greedy", "random", "--games", "1"], "games is 1"),
        (["evaluate", "greedy", "random", "--workers", "0"], "workers is 0"),
        (["evaluate", "greedy", "random", "--games", "9", "--study"], "unit is 'game'"),
        (["power", "greedy", "random", "--power", "0.01"], "power is 0.01"),
        (["power", "greedy", "random", "--power", "nan"], "power is nan"),
        (["power", "greedy", "random", "--margin", "1e-200"], "margin is 1e-200"),
        (["power", "greedy", "random", "--margin", "inf"], "margin is inf"),
        (["power", "greedy", "random", "--rounds", "9" * 400], "rounds is 999"),
        (["evaluate", "greedy", "random", "--sprt", "0", "inf"], "sprt is (0.0, inf)"),
        (["evaluate", "greedy", "random", "--sprt", "nan", "0"], "sprt is (nan, 0.0)"),
        (["evaluate", "greedy", "random", "--sprt", "-9999999", "0"], "sprt is (-9999999.0, 0.0)"),
        (
            ["evaluate", "greedy", "random", "--games", "40", "--sprt", "-200000", "0"],
            "sprt is (-200000.0, 0.0)",
        ),
        (["report", "."], "'.' cannot be read"),
        (["report", "/"], "'/' cannot be read"),
        (["report", "nowhere.jsonl"], "'nowhere.jsonl' cannot be read"),
        (["tournament", "configs/ladder.yaml", "--workers", "0"], "workers is 0"),
    ],
)
def test_commands_refuse_in_a_sentence(arguments, says, capsys):
    assert main(arguments) == 2
    error = capsys.readouterr().err
    assert says in error and error.strip().count("\n") == 0


def test_a_report_is_one_file(whole, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path, run = tmp_path / "results.jsonl", tmp_path / "run"
    path.write_bytes(whole)
    run.mkdir()
    rows = [{"decisions": k, "entropy": 1 / k, "against_greedy": k} for k in (1, 2, 3)]
    (run / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"dec')
    assert main(["report", str(path), "--runs", str(run)]) == 0
    page = (tmp_path / "results.html").read_text()
    assert page.count("<svg") == page.count("</svg>") == 4 + 4 + 1 + 4
    for player in PLAYERS:
        assert page.count(player) > 10
    assert "src=" not in page and "<script" not in page and "@import" not in page
    assert ("not finished" not in page and "Alpha-rank" in page) or "alpha" not in page
    path.write_bytes(b"".join(whole.splitlines(keepends=True)[:5]))
    assert main(["report", str(path)]) == 0
    assert "not finished" in (tmp_path / "results.html").read_text()
    assert main(["report", str(path), "--runs", str(tmp_path)]) == 2
    assert "a folder with metrics.jsonl" in capsys.readouterr().err
    path.write_bytes(b"{}\n")
    assert main(["report", str(path)]) == 2


def training_run(folder, settings="", values=(1, 2, 3), **others):
    """A folder as training leaves it."""
    folder.mkdir()
    rows = [
        {"decisions": 9 * k, "seconds": 60 * k, "against_tactician": v} | others
        for k, v in enumerate(values, 1)
    ]
    (folder / "metrics.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    if settings:
        (folder / "settings.yaml").write_text(f"# numpy 2\nfolder: {folder}\n{settings}")
    return str(folder)


def curves_of(monkeypatch, *runs):
    """The section about some runs, and the values that go into each of its curves."""
    pytest.importorskip("matplotlib")
    drawn = {}

    def curves(groups):
        for name, seeds in groups.items():
            drawn[name] = [[row["against_tactician"] for row in rows] for rows in seeds]
        return charts_curves(groups)

    charts_curves = charts.curves
    monkeypatch.setattr(charts, "curves", curves)
    return report._learning(runs), drawn


def test_runs_that_differ_in_their_seed_are_one_curve(tmp_path, monkeypatch):
    made = {
        name: training_run(tmp_path / name, settings, values)
        for name, settings, values in [
            ("a", "seed: 0\ntables: 8\n", (1, 2, 3)),
            ("b", "seed: 1\ntables: 8\n", (3, 4)),  # stopped early
            ("again", "seed: 1\ntables: 8\n", (3, 4)),
            ("other", "seed: 2\ntables: 9\n", (5,)),
            ("unknown", "", (6,)),
            ("none", "", (7,)),
        ]
    }
    text, drawn = curves_of(monkeypatch, *made.values(), made["a"])
    assert drawn == {
        f"2 seeds: {made['a']}, ...": [[1, 2, 3], [3, 4]],
        made["again"]: [[3, 4]],
        made["other"]: [[5]],
        made["unknown"]: [[6]],
        made["none"]: [[7]],
    }
    assert "their mean in a band from the lowest to the highest" in text
    assert "against the tactician" in text and "minutes" in text and "entropy" not in text
    alone, _ = curves_of(monkeypatch, made["again"], made["other"])
    assert "a band from" not in alone


def test_a_curve_is_the_mean_in_its_band():
    """Over the decisions that all seeds saw, at the mean of the minutes that they took."""
    pytest.importorskip("matplotlib")
    from matplotlib.figure import Figure

    axes = Figure().subplots()
    seeds = [
        [{"decisions": 9, "seconds": 60, "entropy": 1}, {"decisions": 18, "seconds": 99, "x": 1}],
        [{"decisions": 9, "seconds": 180, "entropy": 2}],
        [
            {"decisions": 4, "seconds": 1, "entropy": 9},
            {"decisions": 9, "seconds": 60, "entropy": 6},
        ],
    ]
    charts._curve(axes, [charts._points(rows, "entropy") for rows in seeds], 1, "red", "said")
    (mean,) = [line for line in axes.lines if line.get_label() == "said"]
    assert mean.get_xydata().tolist() == [[5 / 3, 3]] and len(axes.lines) == 4
    assert sorted({y for _, y in axes.collections[0].get_paths()[0].vertices}) == [1, 6]


def test_seeds_with_nothing_in_common_are_drawn(tmp_path):
    pytest.importorskip("matplotlib")
    one = training_run(tmp_path / "one", "seed: 0\n", ())
    (tmp_path / "one" / "metrics.jsonl").write_text('{"decisions": 5}\n')
    two = training_run(tmp_path / "two", "seed: 1\n", (1,))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rows = [report._metrics(path) for path in (tmp_path / "one", tmp_path / "two")]
        assert "2 seeds" in charts.curves({f"2 seeds: {one}, {two}": rows})


def test_a_report_spares_what_it_reads(whole, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path, link, page = (tmp_path / name for name in ("r.jsonl", "link", "out.html"))
    path.write_bytes(whole)
    page.write_bytes(whole)
    link.hardlink_to(path)
    (tmp_path / "metrics.jsonl").write_text('{"decisions": 1}')
    for results, html in ((path, path), (path, link), (page, page)):
        said = refused(capsys, "report", results, "--html", html)
        assert f"page is '{html}'" in said and results.read_bytes() == whole
    assert "page is" in refused(capsys, "report", page)
    metrics = tmp_path / "metrics.jsonl"
    assert "page is" in refused(capsys, "report", path, "--html", metrics, "--runs", tmp_path)
    assert metrics.read_text() == '{"decisions": 1}'


@pytest.mark.parametrize(
    "metrics",
    [
        b"\xff\n",
        b"",
        b"nonsense\n{}\n",
        b"3\n",
        b'{"decisions": "x"}\n',
        b'{"entropy": 1}\n',
        b'{"decisions": 1, "seconds": "x"}\n',
        b'{"decisions": 1, "against_tactician": null}\n',
        b"[" * 9999,
    ],
)
def test_nonsense_instead_of_metrics(metrics, whole, tmp_path, capsys):
    pytest.importorskip("matplotlib")
    path = tmp_path / "r.jsonl"
    path.write_bytes(whole[: whole.index(b"\n") + 1])
    (tmp_path / "metrics.jsonl").write_bytes(metrics)
    assert str(tmp_path) in refused(capsys, "report", path, "--runs", tmp_path)


def test_a_name_is_no_markup(tmp_path, capsys, monkeypatch):
    """Nor an emoji's, nor a formula's; a long one is cut short in plots."""
    pytest.importorskip("matplotlib")
    name = "[red]$x^$[/blue]:smile:" + "y" * 300
    source = f"class Bot:\n    name = {name!r}\n    act = lambda self, v: v.mask.argmax(1)\n"
    (tmp_path / "smile.py").write_text(source)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("COLUMNS", "500")
    assert main(["evaluate", "python:smile:Bot", "random", "--rounds", "8"]) == 0
    assert capsys.readouterr().out.count(name) >= 3
    assert main(["ladder", "python:smile:Bot", "random", "--rounds", "8"]) == 0
    assert name in capsys.readouterr().out
    spec = "python:smile:Bot"
    assert main(["tournament", plan_file(tmp_path, players=["random", spec])]) == 0
    assert spec in capsys.readouterr().out
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for text in (charts.bars([name, "b"], [1, 2], "m"), charts.heat([name], [[None]])):
            assert "[red]$x^$[/blue]:smile:" in text and name not in text


def test_json_has_no_infinite_numbers(capsys):
    command = ["evaluate", "greedy", "random", "--games", "8", "--json"]
    assert main(command) == 0
    found = json.loads(capsys.readouterr().out, parse_constant=pytest.fail)
    assert found["win_share"] < 1 or found["elo"][2] is None
    assert json_of({"a": (1, np.inf, [-np.inf, np.nan])}) == '{"a": [1, null, [null, null]]}'
