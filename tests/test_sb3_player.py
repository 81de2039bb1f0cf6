"""The stock road: MaskablePPO trained, saved, trusted and judged."""

import numpy as np
import pytest

pytest.importorskip("sb3_contrib")

from fives_env import Rules
from fives_env.arena import evaluate
from fives_env.cli import main
from fives_env.players import make_player, sb3
from training import sb3_maskable_ppo as script


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    folder = tmp_path_factory.mktemp("runs") / "sb3"
    settings = script.Settings(
        folder=str(folder), tables=64, steps=16, total_decisions=64 * 16 * 2, hidden=(32,)
    )
    return script.train(settings)


def test_plays_once_it_is_trusted(path, monkeypatch, capsys):
    monkeypatch.setattr(sb3, "_trusted", False)
    with pytest.raises(ValueError) as error:
        make_player(f"sb3:{path}")
    assert "give --trust if you know where it comes from." in str(error.value)
    command = ["evaluate", f"sb3:{path}", "random", "--rounds", "40"]
    assert main(command) == 2 and "--trust" in capsys.readouterr().err
    assert main([*command, "--trust"]) == 0
    assert f"sb3:{path}" in capsys.readouterr().out


def test_actions_are_legal_and_rows_alone(path):
    player = sb3.SB3Player(path, sure=True)
    result = evaluate(player, "random", pairs=40)
    assert np.isfinite(result.margin)
    with pytest.raises(ValueError) as error:
        evaluate(player, "random", pairs=2, rules=Rules(players=3))
    assert "it cannot play here." in str(error.value)


def test_no_file(tmp_path):
    with pytest.raises(ValueError) as error:
        sb3.SB3Player(str(tmp_path / "none.zip"), sure=True)
    assert "cannot be read (No such file or directory)." in str(error.value)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--pairs", "1"], "pairs is 1, but must be at least 2."),
        (
            ["--hidden", "-3"],
            "hidden is (-3,), but must be one number of units for each of 1 to 16",
        ),
        (["--folder", ""], "folder is '', but must be a path with a name."),
        (["--folder", "run.v1"], "run.v1.zip is there already: move it away"),
    ],
)
def test_refused_settings(capsys, tmp_path, monkeypatch, arguments, said):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "run.v1.zip").write_text("mine")
    assert script.main(arguments) == 2
    assert said in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["run.v1.zip"]
