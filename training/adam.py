"""A step of Adam along the mean of several gradients, clipped, and of the weights' average.

As torch's operations it would read all weights and moments from memory three times as often.
"""

import numpy as np

from fives_env.engine.jit import jit_reordering

#: Decay of the two moments, and what is added to a divisor.
BETA1, BETA2, EPSILON = 0.9, 0.999, 1e-5
#: Weights at a time: so few that a share of all gradients stays near the processor.
CHUNK = 2048


@jit_reordering
def add_up(gradients):  # type: ignore[no-untyped-def]
    """Add all gradients to the first one, float32, (threads, weights); the sum's norm."""
    total = np.float32(0)
    n = gradients.shape[1]
    for start in range(0, n, CHUNK):
        first = gradients[0, start : start + CHUNK]
        for k in range(1, len(gradients)):
            other = gradients[k, start : start + CHUNK]
            for j in range(len(first)):
                first[j] += other[j]
        for j in range(len(first)):
            total += first[j] * first[j]
    return np.sqrt(total)


@jit_reordering
def adam(weights, moments, average, gradients, rate, most, step, kept):  # type: ignore[no-untyped-def]
    """Step along the mean of the gradients (Kingma & Ba 2015).

    Args:
        weights: float32, (n,).
        moments: First and second, float32, (2, n).
        average: The weights' running average, float32, (n,).
        gradients: float32, (threads, n); overwritten.
        rate: Step size.
        most: Norm to which the mean is clipped.
        step: Which step this is, from 1.
        kept: Share of the average that stays.
    """
    norm = add_up(gradients) / len(gradients)
    scale = np.float32(min(1, most / (norm + 1e-6)) / len(gradients))
    length = np.float32(rate / (1 - BETA1**step))
    spread = np.float32(1 / np.sqrt(1 - BETA2**step))
    new1, new2, new = np.float32(1 - BETA1), np.float32(1 - BETA2), np.float32(1 - kept)
    epsilon = np.float32(EPSILON)
    for start in range(0, len(weights), CHUNK):
        part = slice(start, start + CHUNK)
        slope, first, second = gradients[0, part], moments[0, part], moments[1, part]
        weight, mean = weights[part], average[part]
        for j in range(len(slope)):
            slope[j] *= scale
            first[j] += new1 * (slope[j] - first[j])
            second[j] += new2 * (slope[j] * slope[j] - second[j])
        for j in range(len(slope)):
            weight[j] -= length * first[j] / (np.sqrt(second[j]) * spread + epsilon)
        for j in range(len(slope)):
            mean[j] += new * (weight[j] - mean[j])
