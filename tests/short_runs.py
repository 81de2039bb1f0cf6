"""What the tests of training.ppo share: a short run, and ways to disturb one."""

import dataclasses

from fives_env.players import checkpoint
from training import ppo
from training.ppo import Settings

SMALL = Settings(
    tables=32, steps=16, minibatch=128, hidden=(16,), total_decisions=1024, matches=1, pairs=20
)


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
