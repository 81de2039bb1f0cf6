"""Writing what happened into the caller's buffer."""

from fives_env.engine.jit import jit


@jit
def emit(ev, n, do, seat, tile, end, points):  # type: ignore[no-untyped-def]
    """Write row ``n`` of ``ev`` where it has one; -1 stands for no seat, tile or end."""
    if n < len(ev):
        ev[n, 0] = do
        ev[n, 1] = seat
        ev[n, 2] = tile
        ev[n, 3] = end
        ev[n, 4] = points
    return n + 1
