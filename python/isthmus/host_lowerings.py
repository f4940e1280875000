"""Lowerings of JAX for platforms of devices: those of cpu, whose calls run on the host, over copies.

JAX has lowerings for `cpu` only (LAPACK, Python callbacks), and donates only on platforms that it knows.
Private names are listed in PRIVATE_NAMES; the tests of the platforms say which a new version has moved.
"""

import itertools
import secrets

# module, name, and what stops working without it.
PRIVATE_NAMES = [
    ("jax._src.interpreters.mlir", "_platform_specific_lowerings", "linear algebra"),
    ("jax._src.interpreters.mlir", "_lowerings", "callbacks"),
    ("jax._src.interpreters.mlir", "_platforms_with_donation", "donation"),
    ("jax._src.interpreters.mlir", "LoweringRuleEntry", "callbacks"),
    ("jax._src.callback", "pure_callback_p", "callbacks"),
    ("jax._src.callback", "io_callback_p", "callbacks"),
    ("jax._src.debugging", "debug_callback_p", "debug callbacks"),
    ("jax._src.debugging", "debug_print_p", "debug prints"),
    ("jax._src.checkify", "check_p", "checks"),
    ("jax._src.buffer_callback", "buffer_callback_p", "buffer callbacks"),
]

# Primitives that have a lowering for cpu which suits no device: this one's loops go through memory five times.
_GENERIC_PRIMITIVES = {"threefry2x32"}

# The functions of callbacks by number. They stay: a launch may outlive the Python side of its program.
_callbacks = {}
# A program that another process has compiled must not find a function here: its numbers are others.
_numbers = itertools.count(1 + secrets.randbits(29) << 32)


class _Callbacks(list):
    """Stands for a program's list of callbacks, `real`: gives each a number of this process.

    JAX sends a program's list with its launches only to clients of names that it knows. The list says also
    that the program has callbacks, and is not for the compilation cache.
    """

    def __init__(self, real):
        super().__init__()
        self._real = real

    def append(self, function):
        self._last = next(_numbers)
        _callbacks[self._last] = function
        self._real.append(function)

    def __len__(self):
        return self._last + 1  # JAX writes the length less one into the program


def own_callback(number):
    """The function of a callback by its number in the program, if that is of this process; else None."""
    return _callbacks.get(number)


def find_callback(number):
    """The function of a callback by its number in the program."""
    function = own_callback(number)
    if function is None:
        raise RuntimeError("the Python function of a callback is of another process")
    return function


def _as_on_cpu(rule, numbers_own):
    """A lowering rule that believes to lower for cpu, and numbers callbacks our way if asked to."""
    from jax._src import xla_bridge

    def lower(ctx, *arguments, **parameters):
        module = ctx.module_context
        callbacks = module.host_callbacks
        on_cpu = ctx.replace(module_context=module.replace(
            platforms=("cpu",), backend=xla_bridge.get_backend("cpu"),
            host_callbacks=_Callbacks(callbacks) if numbers_own else callbacks))
        results = rule(on_cpu, *arguments, **parameters)
        if on_cpu.tokens_out is not None:  # of ordered effects
            ctx.set_tokens_out(on_cpu.tokens_out)
        return results
    return lower


def _entry_as_on_cpu(entry, numbers_own):
    from jax._src.interpreters import mlir

    return mlir.LoweringRuleEntry(_as_on_cpu(entry.rule, numbers_own), entry.inline)


class _Lowerings(dict):
    """Lowering rules by primitive: own ones, else those of cpu, also such as come later."""

    def __init__(self, own, cpu, numbers_own):
        super().__init__(own)
        self._cpu = cpu
        self._numbers_own = numbers_own

    def __contains__(self, primitive):
        return super().__contains__(primitive) or primitive in self._cpu

    def __missing__(self, primitive):
        return _entry_as_on_cpu(self._cpu[primitive], self._numbers_own)


class _ReplacedLowerings(_Lowerings):
    """The same for a name whose own rules are for another plugin: none of them counts."""

    def __setitem__(self, primitive, entry):
        pass


def install(platform: str, replaces: bool = False) -> None:
    """Gives `platform` the lowerings of cpu beside its own; instead of them if `replaces`.

    A name with lowerings of its own is one that JAX knows, and sends callbacks to.
    """
    from jax._src import buffer_callback, callback, checkify, debugging
    from jax._src.interpreters import mlir

    tables = mlir._platform_specific_lowerings
    kind = _ReplacedLowerings if replaces else _Lowerings
    ours = kind({} if replaces else tables[platform], tables["cpu"], not replaces)
    tables[platform] = ours
    for primitive in (callback.pure_callback_p, callback.io_callback_p,
                      debugging.debug_callback_p, debugging.debug_print_p, checkify.check_p,
                      buffer_callback.buffer_callback_p):
        entry = tables["cpu"].get(primitive) or mlir._lowerings.get(primitive)
        if entry is not None:
            dict.__setitem__(ours, primitive, _entry_as_on_cpu(entry, not replaces))
    for primitive, entry in list(mlir._lowerings.items()):
        if primitive.name in _GENERIC_PRIMITIVES:
            dict.__setitem__(ours, primitive, entry)
    if platform not in mlir._platforms_with_donation:
        mlir._platforms_with_donation.append(platform)
