"""A layer that is fed counts, of which few are unusual; its sums and its gradient.

Of some 350 counts of an observation six in seven are what they usually are. What the usual ones add
up to is worked out once, and each observation adds a row of weights for each count that differs.

All rows are walked for a few units at a time: so few that their sums stay in registers, and the
weights of all counts to them in the processor's nearest memory.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

from fives_env.engine.jit import JIT, get8, i64, jit
from fives_env.envs.self_play import SelfPlay
from fives_env.rules import Rules

#: Units at a time.
LANES = 32
#: Numbers in a line of the processor's memory.
LINE = 16

if JIT:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic, models, register_model

    _VECTOR = ir.VectorType(ir.FloatType(), LANES)

    class _Lanes(types.Type):  # type: ignore[misc]
        """LANES float32 in registers: what a loop in Numba's Python always keeps in memory."""

        def __init__(self) -> None:
            super().__init__("Lanes")

    @register_model(_Lanes)
    class _Model(models.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, lanes: Any) -> None:
            super().__init__(manager, lanes, _VECTOR)

    def _pointer(context: Any, builder: Any, array: Any, args: Any) -> Any:
        data = context.make_array(array)(context, builder, args[0]).data
        return builder.bitcast(builder.gep(data, [args[1]]), _VECTOR.as_pointer())

    @intrinsic
    def get(typingctx: Any, array: Any, at: Any) -> Any:  # noqa: D103
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.load(_pointer(context, builder, sig.args[0], args), align=4)

        return _Lanes()(array, types.int64), codegen

    @intrinsic
    def put(typingctx: Any, array: Any, at: Any, lanes: Any) -> Any:  # noqa: D103
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            builder.store(args[2], _pointer(context, builder, sig.args[0], args), align=4)
            return context.get_dummy_value()

        return types.void(array, types.int64, lanes), codegen

    @intrinsic
    def add(typingctx: Any, lanes: Any, amount: Any, others: Any) -> Any:  # noqa: D103
        def codegen(_: Any, builder: Any, __: Any, args: Any) -> Any:
            nothing, fuse = ir.Constant(_VECTOR, ir.Undefined), ("contract",)
            index = ir.Constant(ir.IntType(32), 0)
            one = builder.insert_element(nothing, args[1], index)
            alike = ir.Constant(ir.VectorType(ir.IntType(32), LANES), [0] * LANES)
            amounts = builder.shuffle_vector(one, nothing, alike)
            return builder.fadd(args[0], builder.fmul(amounts, args[2], fuse), fuse)

        return lanes(lanes, types.float32, lanes), codegen

else:

    def get(array: Any, at: Any) -> Any:
        """Numbers of a float32 array from ``at`` on."""
        return array[at : at + LANES].copy()

    def put(array: Any, at: Any, lanes: Any) -> None:
        """Write numbers into a float32 array from ``at`` on."""
        array[at : at + LANES] = lanes

    def add(lanes: Any, amount: Any, others: Any) -> Any:
        """``lanes + amount * others``."""
        return lanes + amount * others


def whole(units: int) -> int:
    """Units with those that fill the last lanes, which stay 0."""
    return -(-units // LANES) * LANES


def room(units: int) -> int:
    """Numbers from one row of weights to the next: an odd number of lines.

    Rows whose distance is a power of two would drive each other out of the nearest memory.
    """
    return whole(units) + LINE


def usual_counts(rules: Rules) -> NDArray[np.uint8]:
    """What each count of an observation mostly is, uint8 (size,): its median in random play."""
    game, rng = SelfPlay(64, rules, seed=0), np.random.default_rng(0)
    seen = []
    for _ in range(32):
        seen.append(game.obs.copy())
        game.step(np.where(game.mask, rng.random(game.mask.shape), -1).argmax(1))
    return np.median(np.concatenate(seen), 0).astype(np.uint8)


@jit
def list_unusual(row, usual, columns, amounts):  # type: ignore[no-untyped-def]
    """List where counts are not the usual ones, and by how much; how many there are.

    Eight that are all usual are passed over at once.
    """
    m = 0
    whole = len(row) & ~7
    for eight in range(0, whole, 8):
        if get8(row, eight) != get8(usual, eight):
            for c in range(eight, eight + 8):
                columns[m] = c
                m += row[c] != usual[c]
    for c in range(whole, len(row)):
        columns[m] = c
        m += row[c] != usual[c]
    for k in range(m):
        amounts[k] = i64(row[columns[k]]) - i64(usual[columns[k]])
    return m


@jit
def first_layer(  # type: ignore[no-untyped-def]
    obs, batch, usual, weights, base, columns, amounts, starts, out
):
    """Write what the layer makes of some rows of counts, ``counts @ weights + bias``.

    Args:
        obs: All rows, uint8, (any, size).
        batch: Those meant, int64, (n,).
        usual: Counts that most rows have, uint8, (size,).
        weights: float32, (size * room,).
        base: What the usual counts add up to with the bias, float32, (whole lanes,).
        columns: Out: where counts are not the usual ones, row after row, int32, (n * size,).
        amounts: Out: by how much, float32, (n * size,).
        starts: Out: where in these two a row begins, and the last one ends, int64, (n + 1,).
        out: Out: float32, (n, whole lanes).
    """
    row = len(weights) // len(usual)
    starts[0] = 0
    for i in range(len(batch)):
        m = starts[i]
        starts[i + 1] = m + list_unusual(obs[batch[i]], usual, columns[m:], amounts[m:])
    for first in range(0, len(base), LANES):
        for i in range(len(batch)):
            sums = get(base, first)
            where, much = columns[starts[i] : starts[i + 1]], amounts[starts[i] : starts[i + 1]]
            for k in range(len(where)):
                sums = add(sums, much[k], get(weights, i64(where[k]) * row + first))
            put(out[i], first, sums)


@jit
def first_gradient(columns, amounts, starts, usual, slope, weights, bias):  # type: ignore[no-untyped-def]
    """Write the gradient along weights and bias of the layer; arrays as it takes them."""
    row = len(weights) // len(usual)
    weights[:] = 0
    bias[:] = 0
    for first in range(0, len(bias), LANES):
        total = get(bias, first)
        for i in range(len(slope)):
            along = get(slope[i], first)
            total = add(total, np.float32(1), along)
            where, much = columns[starts[i] : starts[i + 1]], amounts[starts[i] : starts[i + 1]]
            for k in range(len(where)):
                at = i64(where[k]) * row + first
                put(weights, at, add(get(weights, at), much[k], along))
        put(bias, first, total)
    for c in range(len(usual)):
        if usual[c] > 0:
            for j in range(len(bias)):
                weights[c * row + j] += np.float32(usual[c]) * bias[j]
