"""A learner against a frozen player: what it wins, and what is refused."""

import pytest

pytest.importorskip("torch")

from fives_env.players import checkpoint
from training import best_response, distill
from training.best_response import Settings


def test_wins_from_greedy_what_can_be_won_in_a_moment(tmp_path):
    """And against a network it begins with that network's weights."""
    settings = Settings(
        player="greedy", folder=str(tmp_path / "a"), total_decisions=512 * 60, pairs=300
    )
    assert best_response.answer(settings)["low"] > 10
    assert "against greedy" in (tmp_path / "a" / "result.txt").read_text()
    answer = Settings(
        player=f"network:{tmp_path / 'a'}", folder=str(tmp_path / "b"), total_decisions=512, pairs=9
    )
    assert answer.for_learner().start == str(tmp_path / "a")
    assert best_response.answer(answer)["b"] == f"network:{tmp_path / 'a'}"
    one, two = (checkpoint.load(tmp_path / name)[0]["planes"] for name in "ab")
    assert 0 < abs(one - two).max() < 0.05


@pytest.mark.parametrize("threads", [1, 3, 1024])
def test_tables_go_by_threads(threads):
    Settings(threads=threads).for_learner().check()


def test_ctrl_c(tmp_path, monkeypatch, capsys):
    """In training: no match; in the match: a player is left, whose card says the command."""
    monkeypatch.chdir(tmp_path)
    arguments = ["--player", "greedy", "--total-decisions", "1024", "--pairs", "4", "--folder", ""]

    def interrupt(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(distill.Learner, "line", interrupt)
        patch.setattr(best_response, "evaluate", None)
        assert best_response.main(arguments) == 0
    assert "Stopped after 0 decisions" in capsys.readouterr().out
    monkeypatch.setattr(best_response, "evaluate", interrupt)
    assert best_response.main(arguments) == 0
    assert capsys.readouterr().out.endswith("Stopped.\n")
    card = checkpoint.load("runs/best_response")[1]
    assert card["command"].startswith("python -m training.best_response --player greedy")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--player", "search"], "player is 'search', but must be one of 'random', 'greedy', "),
        (["--player", "network:none"], "checkpoint is 'none', but must be a folder"),
        (["--pairs", "1"], "pairs is 1, but must be at least 2."),
        (["--seed", str(2**63 - 1)], "but must be at most 9223370937343148031."),
        (["--threads", "0"], "threads is 0, but must be at least 1."),
    ],
)
def test_refusals(capsys, arguments, said):
    assert best_response.main(arguments) == 2
    text = capsys.readouterr().err.strip()
    assert said in text and text.endswith(".")
