"""How every kernel is compiled, and the few operations that need a compiler's help.

Numba's on-disk cache does not notice that a *called* function in another module changed, so the
cache lies in a folder named by a hash of this package's sources: a changed line anywhere means a
fresh folder. The folder is set per function while it is decorated, so the caller's own Numba
settings stay as they are.
"""

import atexit
import hashlib
import os
import shutil
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from filelock import FileLock
from numba import types
from numba.core.caching import FunctionCache
from numba.extending import intrinsic

F = TypeVar("F", bound=Callable[..., Any])

PACKAGE = Path(__file__).resolve().parent.parent
JIT = not numba.config.DISABLE_JIT
_WORD = (1 << 64) - 1

#: Every small field is read through this: Numba would keep uint8, NumPy would overflow.
i64: Any = np.int64 if JIT else int


def source_hash() -> str:
    """Hash over the path and text of every Python file in the package (16 hex digits)."""
    digest = hashlib.sha256()
    for path in sorted(PACKAGE.rglob("*.py")):
        digest.update(str(path.relative_to(PACKAGE)).encode())
        digest.update(path.read_bytes())
    return digest.hexdigest()[:16]


def _cache_folder() -> str:
    """First writable place: NUMBA_CACHE_DIR, beside the package, the user's cache, a temporary."""
    home_cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    name = f"fives-{source_hash()}"
    places = [PACKAGE / "__pycache__", Path(home_cache) / "fives_env"]
    if numba.config.CACHE_DIR:
        places.insert(0, Path(numba.config.CACHE_DIR))
    for place in places:
        try:
            (place / name).mkdir(parents=True, exist_ok=True)
            tempfile.TemporaryFile(dir=place / name).close()
        except OSError:
            continue
        return str(place / name)
    folder = tempfile.mkdtemp(prefix=name)
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    return folder


CACHE = _cache_folder() if JIT else ""


class _Cache(FunctionCache):  # type: ignore[misc]
    """Numba's on-disk cache, added to by one process at a time.

    Two that add a function's code for different types of arguments at once would give both the same
    file name, and from then on one type's machine code would run on the other's arguments.
    """

    def save_overload(self, sig: Any, data: Any) -> None:
        """Save the code for one signature; not at all on a file system that cannot lock."""
        lock = FileLock(Path(CACHE) / "lock")
        try:
            lock.acquire()
        except NotImplementedError:
            return
        try:
            super().save_overload(sig, data)
        finally:
            lock.release()


def _compiled(function: F, **options: Any) -> F:
    """Compile with the cache on and the GIL released; leave as it is under NUMBA_DISABLE_JIT=1."""
    if not JIT:
        return function
    before = numba.config.CACHE_DIR
    numba.config.CACHE_DIR = CACHE
    try:
        compiled = numba.njit(nogil=True, error_model="numpy", **options)(function)
        compiled._cache = _Cache(function)  # what cache=True does with Numba's own
    finally:
        numba.config.CACHE_DIR = before
    return compiled  # type: ignore[no-any-return]


def jit(function: F) -> F:
    """Compile a kernel that allocates nothing and returns no array.

    In return it counts no references to arrays, which would take as long as playing. Numba refuses
    a kernel that does allocate; :func:`jit_allocating` is for those.
    """
    return _compiled(function, _nrt=False)


def inlined(function: F) -> F:
    """Compile a kernel as :func:`jit` does, and copy it into each of its callers.

    It is for short ones that each decision needs and LLVM thinks too long to be copied: a call,
    with its return value in memory, costs as much as they do.
    """
    return _compiled(function, _nrt=False, forceinline=True)


def jit_reordering(function: F) -> F:
    """Compile a kernel as :func:`jit` does, that may add up in any order.

    It is faster, but the last bits of its sums depend on the processor: for training only.
    """
    return _compiled(function, _nrt=False, fastmath={"reassoc", "contract"})


def jit_allocating(function: F) -> F:
    """Compile a kernel that may allocate."""
    return _compiled(function, _nrt=True)


if JIT:

    @intrinsic
    def popcount(typingctx: Any, mask: Any) -> Any:  # noqa: D103
        def codegen(_: Any, builder: Any, __: Any, args: Any) -> Any:
            return builder.ctpop(args[0])

        return types.int64(types.int64), codegen

    @intrinsic
    def lowest(typingctx: Any, mask: Any) -> Any:  # noqa: D103
        def codegen(_: Any, builder: Any, __: Any, args: Any) -> Any:
            from llvmlite import ir

            return builder.cttz(args[0], ir.Constant(ir.IntType(1), 1))

        return types.int64(types.int64), codegen

    def _eight_bytes(context: Any, builder: Any, array: Any, args: Any) -> Any:
        """LLVM pointer to the bytes from an index on, taken for an integer that lies anywhere."""
        from llvmlite import ir
        from numba.core import cgutils

        data = context.make_array(array)(context, builder, args[0]).data
        at = cgutils.pointer_add(builder, data, args[1])
        return builder.bitcast(at, ir.IntType(64).as_pointer())

    @intrinsic
    def get8(typingctx: Any, array: Any, at: Any) -> Any:  # noqa: D103
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            return builder.load(_eight_bytes(context, builder, sig.args[0], args), align=1)

        return types.int64(array, types.int64), codegen

    @intrinsic
    def put8(typingctx: Any, array: Any, at: Any, word: Any) -> Any:  # noqa: D103
        def codegen(context: Any, builder: Any, sig: Any, args: Any) -> Any:
            at = _eight_bytes(context, builder, sig.args[0], args)
            builder.store(args[2], at, align=1)
            return context.get_dummy_value()

        return types.void(array, types.int64, types.int64), codegen

    @jit
    def mul64(a: Any, b: Any) -> Any:
        """Product of two uint64 modulo 2**64."""
        return a * b

    @jit
    def add64(a: Any, b: Any) -> Any:
        """Sum of two uint64 modulo 2**64."""
        return a + b

else:

    def popcount(mask: Any) -> Any:
        """Number of bits set in a non-negative integer."""
        return int(mask).bit_count()

    def lowest(mask: Any) -> Any:
        """Index of the lowest bit set in a positive integer."""
        return (int(mask) & -int(mask)).bit_length() - 1

    def get8(array: Any, at: Any) -> Any:
        """Eight bytes of a uint8 array from ``at`` on as one int64, lowest byte first."""
        return int.from_bytes(array[at : at + 8].tobytes(), "little", signed=True)

    def put8(array: Any, at: Any, word: Any) -> None:
        """Write an int64 as eight bytes of a uint8 array from ``at`` on, lowest byte first."""
        array[at : at + 8] = np.frombuffer(int(word).to_bytes(8, "little", signed=True), np.uint8)

    def mul64(a: Any, b: Any) -> Any:
        """Product of two uint64 modulo 2**64."""
        return np.uint64(int(a) * int(b) & _WORD)

    def add64(a: Any, b: Any) -> Any:
        """Sum of two uint64 modulo 2**64."""
        return np.uint64(int(a) + int(b) & _WORD)
