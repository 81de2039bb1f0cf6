"""Settings of a run: files, the command line, and what is refused."""

import dataclasses
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

from fives_env import Rules
from tests.short_runs import SMALL, failing, run
from training import ppo, runs, tune_tactician
from training.ppo import Settings
from training.settings import HouseRules, as_yaml, read_settings

ROOT = Path(__file__).parent.parent


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
        settings = read_settings(Settings, str(ROOT / "configs" / f"{name}.yaml"))
        settings.check()
        assert settings.table_rules == Rules()

    def test_saved_settings_are_a_config(self, tmp_path):
        settings = dataclasses.replace(SMALL, rules=HouseRules(players=3, muggins="off"))
        (tmp_path / "settings.yaml").write_text(as_yaml(settings, {"torch": "2"}))
        read = read_settings(Settings, str(tmp_path / "settings.yaml"))
        assert dataclasses.replace(read, config="") == settings

    def test_help_names_every_setting(self, capsys):
        with pytest.raises(SystemExit):
            ppo.main(["--help"])
        text = capsys.readouterr().out
        for field in dataclasses.fields(Settings):
            assert f"--{field.name.replace('_', '-')}" in text
        assert "--rules.players" in text


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["--generations", "0"], "generations is 0, but must be at least 1."),
        (["--seed", str(2**63)], "but must be at most 9223372036854775806."),
        (["--teams"], "teams is True, but must be False with 2 players."),
    ],
)
def test_tuning_is_refused_too(capsys, arguments, said):
    assert tune_tactician.main(arguments) == 2
    assert said in capsys.readouterr().err
