"""The first layer of PPO's network: sums and gradient equal the product that they stand for."""

import os
import subprocess
import sys

import numpy as np
import pytest

pytest.importorskip("torch")
from training import counts


@pytest.mark.parametrize("units", [1, 32, 40])
@pytest.mark.parametrize("size", [8, 37])
@pytest.mark.parametrize("unusual", [0, 0.2, 1])
def test_product_and_its_gradient(units, size, unusual):
    rng = np.random.default_rng(units)
    usual = rng.integers(0, 3, size).astype(np.uint8)
    strange = rng.integers(0, 256, (20, size))
    obs = np.where(rng.random((20, size)) < unusual, strange, usual).astype(np.uint8)
    batch = rng.permutation(20)[:9]
    weights = np.zeros((size, counts.room(units)), np.float32)
    weights[:, :units] = rng.standard_normal((size, units))
    base = np.zeros(counts.whole(units), np.float32)
    base[:units] = usual @ weights[:, :units] + 1
    columns, amounts = np.zeros(9 * size, np.int32), np.zeros(9 * size, np.float32)
    starts = np.zeros(10, np.int64)
    out = np.full((9, len(base)), np.nan, np.float32)
    counts.first_layer(obs, batch, usual, weights.ravel(), base, columns, amounts, starts, out)
    expected = obs[batch] @ weights[:, : len(base)]
    expected[:, :units] += 1
    np.testing.assert_allclose(out, expected, rtol=1e-5, atol=2e-3)
    assert starts[-1] == (obs[batch] != usual).sum()

    slope = rng.standard_normal(out.shape).astype(np.float32)
    gradient, bias = np.full_like(weights, np.nan), np.full_like(base, np.nan)
    counts.first_gradient(columns, amounts, starts, usual, slope, gradient.ravel(), bias)
    np.testing.assert_allclose(bias, slope.sum(0), atol=1e-5)
    theirs = obs[batch].astype(np.float32).T @ slope
    np.testing.assert_allclose(gradient[:, : len(base)], theirs, rtol=1e-5, atol=2e-3)
    assert (gradient[:, len(base) :] == 0).all()


@pytest.mark.skipif("NUMBA_DISABLE_JIT" in os.environ, reason="is itself that run")
def test_the_same_without_the_compiler():
    env = {**os.environ, "NUMBA_DISABLE_JIT": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    result = subprocess.run(command, env=env, capture_output=True, text=True)
    assert result.returncode == 0 and "18 passed" in result.stdout, result.stdout + result.stderr
