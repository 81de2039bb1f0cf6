"""PPO: advantages over each seat's own decisions, the loss and its gradient."""

import dataclasses

import numpy as np
import pytest

pytest.importorskip("torch")
import torch

from fives_env import Rules
from fives_env.envs.self_play import SelfPlay
from tests.short_runs import SMALL
from training import ppo


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
    def dtype(self, request):
        return request.param

    @pytest.fixture(params=[(16,), (40,), (24, 20, 17)], ids=["one", "wide", "three"])
    def learner(self, request, dtype):
        """One that has learned a little, with a window that it has just played."""
        settings = dataclasses.replace(
            SMALL, threads=1, learning_rate=0.02, total_decisions=10**5, hidden=request.param
        )
        learner = learner_of(settings, dtype)
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
            for _ in range(6):
                learner._update(0.02)
        assert figures["clipped"] > 0.05

    @pytest.mark.parametrize("most", [0.01, 100])
    def test_step_is_adams_along_the_mean_of_the_threads(self, most):
        """The same in torch, on weights that lie apart."""
        learner = learner_of(dataclasses.replace(SMALL, threads=2, max_gradient=most))
        learner.learn()
        weights = [weight.detach().clone().requires_grad_() for weight in learner.net.weights]
        theirs = torch.optim.Adam(weights, lr=0.01, eps=1e-5)
        learner.moments.zero_()
        learner.step = 0
        average = learner.average.clone()
        for step in range(1, 4):
            for worker in learner.workers:
                worker.learn(worker.batches()[0])
            for weight, *parts in zip(
                weights, *(w.pass_.parts for w in learner.workers), strict=True
            ):
                weight.grad = torch.stack(parts).mean(0)
            torch.nn.utils.clip_grad_norm_(weights, most)
            theirs.step()
            learner._update(0.01)
            average.lerp_(learner.net.flat, 9 / (step + 9))
        np.testing.assert_allclose(learner.average, average, atol=1e-6)
        for ours, other in zip(learner.net.weights, weights, strict=True):
            np.testing.assert_allclose(ours.detach(), other.detach(), atol=1e-6)

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
        head, greed = worker.pass_.parts[-3], worker.pass_.parts[-1]
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
