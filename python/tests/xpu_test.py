"""Platform xpu by each OpenCL driver that is installed, each program in a process of its own."""

import ctypes
import importlib
import json
import os
import pathlib
import re
import shutil
import subprocess
import sys

import pytest
import required

xpu_backend = required.module("isthmus.xpu_backend")

from opencl_drivers import COMPARE, DRIVERS, LIBRARY  # noqa: E402


@pytest.mark.parametrize("module, name, purpose", xpu_backend.PRIVATE_NAMES)
def test_tripwire(module, name, purpose):
    import jax
    assert hasattr(importlib.import_module(module), name), (
        f"JAX {jax.__version__} has no {module}.{name} any more: {purpose} is lost on xpu")


@required.needs(LIBRARY.is_file() and xpu_backend._packaged_driver() is not None,
                "NO OPENCL DRIVER of intel: pip install -r dev.d/requirements/xpu.txt")
def test_is_listed_with_the_driver_of_a_package(python):
    result = python("""
        import os
        os.environ.pop("ISTHMUS_OPENCL_LIBRARY", None)
        from isthmus import info
        print(info.main([], runs_probes=False))
    """, ISTHMUS_XPU_LIBRARY_PATH=LIBRARY)
    assert "platform  xpu" in result.stdout and "Intel" in result.stdout.split("platform  xpu")[1]


def test_each_device_reads_its_own_constants(xpu):
    result = xpu("""
        import jax, numpy as np
        table = np.random.default_rng(0).standard_normal(5000).astype(np.float32)
        f = jax.jit(lambda i: jax.numpy.asarray(table)[i] * 2)
        where = np.array([4999, 0, 17])
        for device in jax.devices():
            y = f(jax.device_put(where, device))
            print(y.devices() == {device}, (np.asarray(y) == table[where] * 2).all())
    """, ISTHMUS_NUM_DEVICES="2")
    assert result.stdout == "True True\nTrue True\n"


def test_prints_arange(xpu):
    assert xpu("import jax; print(jax.numpy.arange(10))").stdout == "[0 1 2 3 4 5 6 7 8 9]\n"


def test_adds(xpu):
    assert xpu("import jax.numpy as jnp; print(jnp.add(1, 1))").stdout == "2\n"


def test_jits(xpu):
    assert xpu("import jax; print(jax.jit(lambda x: x * 2)(1.))").stdout == "2.0\n"


PMAP = """
    import jax
    n = jax.device_count()
    print(jax.pmap(lambda x: x + jax.lax.psum(x, 'i'), axis_name='i')(jax.numpy.arange(n)))
"""


@pytest.mark.parametrize("devices, printed", [(1, "[0]"), (4, "[6 7 8 9]")])
def test_pmaps(xpu, devices, printed):
    assert xpu(PMAP, ISTHMUS_NUM_DEVICES=devices).stdout == printed + "\n"


def test_has_its_own_name(xpu):
    result = xpu("""
        import jax
        device = jax.devices()[0]
        print(device.platform, jax.numpy.ones(3).devices() == {device}, len(jax.devices("cpu")))
    """)
    assert result.stdout == "xpu True 1\n"


def test_version_of_the_first_client_names_the_driver(xpu):
    # JAX's compilation cache takes devices of equal versions for equal.
    result = xpu("import jax; print(jax.devices()[0].client.platform_version)")
    assert ", driver " in result.stdout


def test_says_what_its_host_does(xpu):
    # Drivers of CPUs that take SPIR-V have kernels of vectors, and leave sorts to the host.
    result = xpu("""
        import jax
        device = jax.devices()[0]
        has_vectors = device.kernel_language == "SPIR-V"
        names = device.host_operations.split()
        print([(name in names) == has_vectors for name in ("stablehlo.sort", "stablehlo.fft")],
              "stablehlo.cholesky" in names, "stablehlo.add" in names)
    """)
    assert result.stdout == "[True, True] True False\n"


def test_missing_library_names_it(xpu):
    result = xpu("""
        import jax
        try:
            jax.devices()
        except RuntimeError as error:
            print("absent.so" in str(error), "xpu" in str(error))
    """, ISTHMUS_OPENCL_LIBRARY="/absent.so")
    assert result.stdout == "True True\n"


COLLECTIVES = """
    import jax, jax.numpy as jnp, numpy as np
    from jax.experimental import serialize_executable
    n = jax.device_count()
    ring = [(i, (i + 1) % n) for i in range(n)]
    f = jax.pmap(lambda x: (jax.lax.psum(x, "i"), jax.lax.all_gather(x, "i"), jax.lax.ppermute(x, "i", ring)),
                 axis_name="i")
    print([np.asarray(result).tolist() for result in f(np.arange(n, dtype=np.float32))])
    for device in jax.devices():
        x = jax.device_put(np.arange(5, dtype=np.float32), device)
        compiled = jax.jit(lambda x: x * 2 + 1).lower(x).compile()
        again = serialize_executable.deserialize_and_load(
            *serialize_executable.serialize(compiled), execution_devices=[device])
        y = again(x)
        moved = jax.device_put(y, jax.devices()[0])
        print(y.devices() == {device}, moved.devices() == {jax.devices()[0]}, moved.tolist())
"""


@required.needs(DRIVERS["pocl"][1], "NO OPENCL DRIVER of pocl: apt-get install pocl-opencl-icd")
def test_devices_of_one_driver_meet(python):
    result = python(COLLECTIVES, JAX_PLATFORMS="xpu", ISTHMUS_XPU_LIBRARY_PATH=LIBRARY, POCL_DEVICES="pthread pthread",
                    **DRIVERS["pocl"][0])
    assert result.stdout.splitlines() == [
        "[[1.0, 1.0], [[0.0, 1.0], [0.0, 1.0]], [1.0, 0.0]]"] + 2 * ["True True [1.0, 3.0, 5.0, 7.0, 9.0]"]
    assert "compiled again" not in result.stderr


@required.needs(DRIVERS["pocl"][1], "NO OPENCL DRIVER of pocl: apt-get install pocl-opencl-icd")
def test_device_that_hangs_beside_others_is_left_out(python):
    # PoCL's `basic` deadlocks in the driver when it waits for another device.
    result = python("import jax; print(jax.devices())", JAX_PLATFORMS="xpu", ISTHMUS_XPU_LIBRARY_PATH=LIBRARY,
                    POCL_DEVICES="basic pthread", **DRIVERS["pocl"][0])
    assert result.stdout.count("pthread") == 1 and "basic" not in result.stdout
    assert "device basic" in result.stderr and "is left out" in result.stderr


@required.needs(DRIVERS["pocl"][1], "NO OPENCL DRIVER of pocl: apt-get install pocl-opencl-icd")
def test_programs_are_for_a_kind_of_device(python, tmp_path):
    # The first process writes the program; two equal devices load what one wrote, and another kind does not.
    printed = [python("""
        import pathlib, pickle
        import jax, numpy as np
        from jax.experimental import serialize_executable
        file, x = pathlib.Path("program"), np.ones(3, np.float32)
        if not file.exists():
            compiled = jax.jit(lambda x: x * 2 + 1).lower(x).compile()
            file.write_bytes(pickle.dumps(serialize_executable.serialize(compiled)))
        try:
            print(serialize_executable.deserialize_and_load(
                *pickle.loads(file.read_bytes()), execution_devices=jax.devices()[:1])(x))
        except Exception as error:
            print("compile it again" in str(error))
    """, JAX_PLATFORMS="xpu", ISTHMUS_XPU_LIBRARY_PATH=LIBRARY, POCL_DEVICES=devices, **DRIVERS["pocl"][0])
               for devices in ("pthread", "pthread pthread", "basic")]
    assert [result.stdout for result in printed] == ["[3. 3. 3.]\n", "[3. 3. 3.]\n", "True\n"]
    assert "compiled again" not in printed[1].stderr


# What TensorFlow shows of its LLVM to all libraries, as far as PoCL would call it: at once, and later.
OTHER_LLVM = """
#include <stdlib.h>
void LLVMContextCreate(void) { abort(); }
void _ZN4llvm11LLVMContextC1Ev(void) { abort(); }
void _ZN4llvm3X8612parseArchX86ENS_9StringRefEb(void) { abort(); }
"""


@required.needs(DRIVERS["pocl"][1], "NO OPENCL DRIVER of pocl: apt-get install pocl-opencl-icd")
@pytest.mark.parametrize("first", ["llvm", "driver"])
def test_driver_calls_its_own_llvm(python, tmp_path, first):
    compiler = shutil.which("clang-22") or shutil.which("cc")
    if not compiler:
        pytest.skip("there is no compiler of C")
    subprocess.run([compiler, "-x", "c", "-", "-shared", "-fPIC", "-o", tmp_path / "llvm.so"], input=OTHER_LLVM,
                   text=True, check=True)
    load = f"import ctypes; ctypes.CDLL('{tmp_path}/llvm.so', ctypes.RTLD_GLOBAL)"
    lines = ["import jax; device = jax.devices()[0]", load]
    # A cache of the driver's would spare it the compiler.
    result = python("\n".join([*(lines if first == "driver" else lines[::-1]), "print(jax.numpy.arange(3) * 2)"]),
                    JAX_PLATFORMS="xpu", ISTHMUS_XPU_LIBRARY_PATH=LIBRARY, POCL_CACHE_DIR=tmp_path,
                    **DRIVERS["pocl"][0])
    assert result.stdout == "[0 2 4]\n"


# Each prints nothing if xpu and JAX's own CPU client agree.
PROGRAMS = {
    "elementwise": "compare(lambda x: jnp.tanh(x) * jnp.exp(-x) + jnp.sin(x * 1e4) + x ** 2.5, array(99, 7))",
    "integers": "compare(lambda x: (x // 7, x % 5, x << 2, x >> 1, lax.clz(x), x.astype(jnp.int8), "
                "jnp.float32(x), lax.population_count(x)), random.integers(-999, 999, 50).astype(np.int32))",
    "narrow floats": "compare(lambda x: (x.astype(jnp.bfloat16) * 3, x.astype(jnp.float16) * 3, "
                     "x.astype(jnp.float8_e4m3fn)), array(50), tolerance=1e-2)",
    "reductions": "compare(lambda x: (x.sum(), x.sum(0), x.max(1), x.argmin(0), jax.nn.softmax(x), (x > 1).argmax(0), "
                  "(x > 1).argmin(1), (x > 1).max(0)), array(30, 41))",
    "products": "a, b = array(33, 47), array(47, 29); compare(lambda a, b: (a @ b, a @ b[:, 0], a.T @ a, "
                "jnp.einsum('ij,jk->ki', a, b), (a * 1j) @ b, (a.astype(jnp.bfloat16) @ b.astype(jnp.bfloat16)"
                ").astype(jnp.float32)), a, b, tolerance=3e-2)",
    "convolutions": "compare(lambda x, w: jax.vjp(lambda x, w: lax.conv_general_dilated(x, w, (2, 1), 'SAME', "
                    "rhs_dilation=(1, 2), dimension_numbers=('NHWC', 'HWIO', 'NHWC')), x, w)[1]"
                    "(jnp.ones((2, 5, 9, 16))), array(2, 10, 9, 3), array(3, 3, 3, 16), tolerance=1e-4)",
    "grouped convolution": "compare(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), 'SAME', "
                           "feature_group_count=4), array(2, 8, 7, 6), array(16, 2, 3, 3))",
    "depthwise convolution": "compare(lambda x, w: jax.vjp(lambda x, w: lax.conv_general_dilated(x, w, (1, 1), 'SAME', "
                             "dimension_numbers=('NHWC', 'HWIO', 'NHWC'), feature_group_count=24), x, w)[1]"
                             "(jnp.ones((2, 9, 8, 24))), array(2, 9, 8, 24), array(3, 3, 1, 24), tolerance=1e-4)",
    "control flow": "compare(lambda x: (lax.while_loop(lambda c: c[0] < 7, lambda c: (c[0] + 1, c[1] * 1.5 + c[0]), "
                    "(0, x)), lax.cond(x[0] > 9, jnp.sin, jnp.cos, x), lax.scan(lambda c, y: (y, c + y), x[0], x)), array(5))",
    "indexing": "compare(lambda x, i: (x[i], x.at[i].add(1.), x.at[i, 0].max(2.), jnp.cumsum(x, 0), jnp.roll(x, 2), "
                "lax.dynamic_update_slice(x, x[:2, :2], (i[0], i[1]))), array(20, 10), random.integers(0, 10, 20))",
    "sorts": "compare(lambda x: (jnp.sort(x), jnp.argsort(x, axis=0), lax.top_k(x, 3)), array(9, 40))",
    "random bits": "compare(lambda x: (jax.random.normal(jax.random.key(0), (50,)), jax.random.bits("
                   "jax.random.key(1, impl='rbg'), (9,))), array(1))",
    "transforms": "compare(lambda x: (jnp.fft.fft(x), jnp.fft.irfft2(jnp.fft.rfft2(x))), array(8, 24), tolerance=1e-4)",
    "linear algebra": "compare(lambda x: (jnp.linalg.cholesky(x @ x.T + 9 * jnp.eye(9)), jnp.linalg.svd(x)[1], "
                      "jnp.linalg.eigvalsh(x @ x.T), jnp.linalg.inv(x[:, :9] + 9 * jnp.eye(9))), array(9, 12), tolerance=1e-4)",
    "sparse solver": "from jax.experimental.sparse.linalg import spsolve; compare(lambda data, b: spsolve(data, "
                     "np.int32([0, 2, 1, 2]), np.int32([0, 2, 3, 4]), b), np.float32([2, 1, 3, 4]), array(3))",
    "tables": "compare(lambda x: (x + jnp.asarray(np.arange(5.) ** 2, x.dtype), x.astype(jnp.int8) * np.int8([1, -2, 3, 4, 5])), "
              "array(5))",
    "empty arrays": "compare(lambda x: (x[:0], x[:0].sum(), x[:, :0] @ x[:0]), array(3, 3))",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_agrees_with_cpu(xpu, name):
    xpu(COMPARE + "    " + PROGRAMS[name])


# Of groups that share memory, as on GPUs: rows that are reduced or from which the largest are selected, tiles that are
# multiplied.
def test_groups_agree_with_cpu(xpu):
    xpu(COMPARE + """
    compare(lambda x: (x.sum(1), x.max(0), jnp.prod(x[:3] / 2, 1), jax.nn.softmax(x)), array(7, 500))
    compare(lambda x: (lax.top_k(x, 4), lax.top_k((x * 50).astype(jnp.int8), 9)), array(6, 8000), tolerance=0)
    a, b = array(2, 99, 37), array(2, 37, 70)
    compare(lambda a, b: (a @ b, jnp.einsum('bij,bkj->bik', a[:, :70], a), (a[0].astype(jnp.int8) @ b[0].astype(jnp.int8))),
            a, b)
    """, ISTHMUS_OPENCL_KERNELS="groups")


def test_callbacks(xpu):
    result = xpu("""
        import jax, numpy as np
        f = jax.jit(lambda x: jax.pure_callback(
            lambda y: np.asarray(y) * 2, jax.ShapeDtypeStruct((), np.float32), x) + 1)
        print(f(3.0), f(4.0))
        jax.jit(lambda x: jax.debug.print("x is {}", x))(5.0)
        jax.effects_barrier()

        from jax.experimental import io_callback
        seen = []
        @jax.jit
        def in_order(x):
            for i in range(3):
                io_callback(seen.append, None, x + i, ordered=True)
            jax.debug.print("then {}", x, ordered=True)
            return x
        in_order(1).block_until_ready()
        jax.effects_barrier()
        print([int(x) for x in seen])

        from jax.experimental import buffer_callback
        def double(context, result, argument):
            np.asarray(result)[:] = 2 * np.asarray(argument)
        print(jax.jit(buffer_callback.buffer_callback(
            double, jax.ShapeDtypeStruct((2,), np.float32)))(jax.numpy.ones(2)))
    """)
    assert result.stdout == "7.0 9.0\nx is 5.0\nthen 1\n[1, 2, 3]\n[2. 2.]\n"


# Kernels, steps of the host, control flow, constants; and a program with a callback, which no other process may have.
CACHED = """
    import jax, jax.numpy as jnp, numpy as np
    counts = {}
    def count(name, **_):
        counts[name] = counts.get(name, 0) + 1
    jax.monitoring.register_event_listener(count)
    @jax.jit
    def f(x):
        x = jnp.sort(x, axis=0) @ x + np.arange(4, dtype=np.float32)
        x = jax.lax.while_loop(lambda c: c.sum() < 1e4, lambda c: c * 2 + 1, x)
        x = jax.lax.cond(x[0, 0] > 0, jnp.tanh, jnp.cos, x)
        return jnp.linalg.cholesky(x @ x.T + jnp.eye(4)).sum(0)
    x = np.arange(16, dtype=np.float32).reshape(4, 4)
    print(np.asarray(f(x)).tolist())
    g = jax.jit(lambda x: jax.pure_callback(lambda y: np.asarray(y) + 1, jax.ShapeDtypeStruct((), np.float32), x))
    print(g(np.float32(1)))
    print(*(counts.get("/jax/compilation_cache/cache_" + kind, 0) for kind in ("hits", "misses")))
"""


def test_programs_come_from_the_compilation_cache(xpu, tmp_path):
    settings = {"JAX_COMPILATION_CACHE_DIR": tmp_path / "cache", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 0}
    first, second = (xpu(CACHED, **settings).stdout.splitlines() for _ in range(2))
    assert first[:2] == second[:2]
    # JAX 0.12 asks for the program with a callback too, which has another key in each process; JAX 0.10 does not.
    (hits, misses), (later_hits, later_misses) = (map(int, lines[2].split()) for lines in (first, second))
    assert (hits, later_hits, misses - later_misses) == (0, 1, 1)
    (entry,) = (tmp_path / "cache").glob("jit_f-*-cache")
    # What is damaged is compiled again.
    entry.write_bytes(entry.read_bytes()[:-1])
    third = xpu(CACHED, **settings)
    assert third.stdout.splitlines()[:2] == first[:2]
    assert "jit_f" in third.stderr


def test_constants_of_programs_are_in_use(xpu):
    result = xpu("""
        import gc, jax, numpy as np
        table = np.random.rand(3000).astype(np.float32)
        used = lambda: jax.devices()[0].memory_stats()["bytes_in_use"]
        before = used()
        f = jax.jit(lambda x: x * table).lower(table).compile()
        print(used() - before)
        del f
        gc.collect()
        print(used() - before)
    """)
    assert result.stdout == "12000\n0\n"


def test_full_memory_names_what_fills_it(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp, numpy as np
        large = jax.jit(lambda x: jnp.tile(x, (1024, 256)))(np.ones((1, 4), np.float32))
        small = jax.device_put(np.ones(7, np.int32))
        print(jax.devices()[0].memory_stats()["bytes_limit"], int(large.sum()))
        try:
            jax.block_until_ready(jax.jit(lambda x: x + 1)(large))
        except Exception as error:
            print(error)
        del large
        print(jax.jit(lambda x: x + 1)(small)[0])
    """, ISTHMUS_MEMORY_LIMIT_BYTES=6 << 20)
    first, error, last = result.stdout.splitlines()
    assert (first, last) == (f"{6 << 20} 1048576", "2")
    assert "RESOURCE_EXHAUSTED" in error and "the limit of 6.0 MiB is reached; asked for 4.0 MiB" in error
    # The largest first, with the line that made it.
    at = error.index("tensor<1024x1024xf32> of 4.0 MiB (result 0 of ")
    assert ":3:" in error[at:].split(")")[0] and error.index("tensor<7xi32> of 28 bytes") > at


# Intel's driver for CPUs has threads that wait compute, and some never came back.
def test_threads_that_wait_at_a_time_come_back(xpu):
    result = xpu("""
        import faulthandler, threading
        import jax, jax.numpy as jnp
        faulthandler.dump_traceback_later(120, exit=True)
        f = jax.jit(lambda x, w: (jnp.tanh(x @ w), (x * w.sum()).mean()))
        w = jnp.eye(256)
        def work(n):
            x = jnp.ones((64, 256)) * n
            for i in range(800):
                x, m = f(x, w)
                m.copy_to_host_async()
                if i % 3 == 0:
                    float(m)
        threads = [threading.Thread(target=work, args=(n,)) for n in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        print("all")
    """)
    assert result.stdout == "all\n"


_HUGE = pathlib.Path("/sys/kernel/mm/transparent_hugepage/enabled")


@pytest.mark.skipif(not _HUGE.is_file() or "[never]" in _HUGE.read_text(), reason="the system has no huge pages")
def test_large_arrays_have_huge_pages(xpu):
    result = xpu("""
        import re
        import jax, jax.numpy as jnp
        x = jax.block_until_ready(jnp.ones(1 << 24) + 1)
        place, huge = x.unsafe_buffer_pointer() + (32 << 20), 0
        for line in open("/proc/self/smaps"):
            if found := re.match("([0-9a-f]+)-([0-9a-f]+) ", line):
                is_there = int(found[1], 16) <= place < int(found[2], 16)
            elif is_there and line.startswith("AnonHugePages:"):
                huge = int(line.split()[1])
        print(huge)
    """)
    assert int(result.stdout) >= 32 << 10  # KB


# What Linux has promised to a process and does not have ends it.
def test_leaves_memory_to_the_host(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp, os
        limit = jax.devices()[0].memory_stats()["bytes_limit"]
        print(limit <= os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") * 7 / 8)
        try:
            jax.block_until_ready(jax.jit(lambda: jnp.ones((limit // 4 + 1,), jnp.float32))())
        except Exception as error:
            print(error)
        print(jnp.arange(2))
    """)
    assert re.fullmatch("True\n.*RESOURCE_EXHAUSTED.*\n.0 1.\n", result.stdout)


# A kernel without end; rounds of the host's loop without end; a kernel that the host waits for inside of its program.
ENDLESS = {
    "kernel": "lambda x: lax.while_loop(lambda c: c[0] >= 0, lambda c: (c[0] * 1, c[1] + 1), (x[0, 0], x))[1]",
    "rounds": "lambda x: lax.while_loop(lambda x: x.max() >= 0, lambda x: jnp.tanh(jnp.tile(x, (9, 9)) @ jnp.tile(x, (9, 9)))"
              "[:64, :64] * 0 + 1, x)",
    "host": "lambda x: jnp.linalg.cholesky(jnp.outer(*[lax.while_loop(lambda c: c[0] >= 0, lambda c: (c[0] * 1, c[1] + 1), "
            "(x[0, 0], x[0]))[1]] * 2))",
}


@pytest.mark.parametrize("name", ENDLESS)
def test_program_without_end_is_given_up(xpu, name):
    result = xpu(f"""
        import jax, jax.numpy as jnp
        from jax import lax
        x = jax.block_until_ready(jnp.ones((64, 64)))
        y = jax.jit({ENDLESS[name]})(x)
        for array in (y, y + 1):
            try:
                print(array.block_until_ready())
            except Exception as error:
                print(str(error).replace("\\n", " "))
    """, ISTHMUS_DEVICE_TIMEOUT_SECONDS=1)
    # The process has ended, though a kernel may have run on.
    errors = result.stdout.splitlines()
    assert len(errors) == 2 and all("DEADLINE_EXCEEDED" in error or "given up" in error for error in errors), errors


def test_branches_by_platform(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp, numpy as np
        from jax import lax
        def named(x):
            return lax.platform_dependent(x, cpu=lambda x: x + 1, xpu=lambda x: x + 2, default=lambda x: x + 3)
        def others(x):
            return lax.platform_dependent(x, cpu=lambda x: x + 1, cuda=lambda x: x + 2, default=lambda x: x + 3)
        for platform in ("xpu", "isthmus", "cpu"):
            x = jax.device_put(np.float32(0), jax.devices(platform)[0])
            looped = jax.jit(lambda x: lax.fori_loop(0, 2, lambda _, x: others(x), x))
            # The lowering of a callback is that of cpu; what is around it is not.
            called = jax.jit(lambda x: jax.pure_callback(
                lambda x: np.asarray(x), jax.ShapeDtypeStruct((), np.float32), named(x)) + others(x))
            print(*(f(x) for f in (jax.jit(named), jax.jit(others), looped, called)))
    """, JAX_PLATFORMS="xpu,isthmus,cpu")
    assert result.stdout == "2.0 3.0 6.0 5.0\n" + 2 * "1.0 1.0 2.0 2.0\n"


def test_executables_are_serialized(xpu):
    result = xpu("""
        import jax, numpy as np
        from jax.experimental import serialize_executable
        compiled = jax.jit(lambda x: np.float32(2) * x + 1).lower(np.ones(3, np.float32)).compile()
        data, *trees = serialize_executable.serialize(compiled)
        again = serialize_executable.deserialize_and_load(data, *trees, execution_devices=jax.devices()[:1])
        print(again(np.ones(3, np.float32)), "multiply" in again.as_text())
    """)
    assert result.stdout == "[3. 3. 3.] True\n"


def test_dlpack_copies_to_the_host(xpu):
    result = xpu("""
        import jax, numpy as np
        x = jax.numpy.arange(4.).reshape(2, 2)
        print(np.from_dlpack(x).tolist(), jax.dlpack.from_dlpack(x).devices() == x.devices())
        y = jax.dlpack.from_dlpack(np.ones(2, np.float32), device=jax.devices()[0])
        print(y.devices() == x.devices(), y.tolist())
        try:
            x.__dlpack__(copy=False)
        except BufferError as error:
            print("xpu" in str(error), "copy=False" in str(error))
        on_cpu = jax.device_put(x, jax.devices("cpu")[0])
        view = np.from_dlpack(on_cpu)
        print(view.__array_interface__["data"][0] == on_cpu.unsafe_buffer_pointer())
    """)
    assert result.stdout == "[[0.0, 1.0], [2.0, 3.0]] True\nTrue [1.0, 1.0]\nTrue True\nTrue\n"


def test_torch_shares_arrays(xpu):
    pytest.importorskip("torch")
    result = xpu("""
        import jax, jax.numpy as jnp, numpy as np, torch
        host = np.arange(6.).reshape(2, 3)
        devices = [jax.devices(platform)[0] for platform in ("xpu", "isthmus", "cpu")]
        for dtype in ("bool", "int8", "uint8", "int32", "float16", "bfloat16", "float32", "complex64"):
            for device in devices:
                x = jax.device_put(jnp.asarray(host).astype(dtype), device)
                # There, whichever way; what torch does to its copy stays there.
                for there in (torch.from_dlpack(x), torch.utils.dlpack.from_dlpack(x)):
                    assert there.device.type == "cpu" and there.dtype == getattr(torch, dtype), (there, dtype)
                    assert there.tolist() == host.astype(bool).tolist() if dtype == "bool" else \
                        there.to(torch.complex64).real.tolist() == host.tolist()
                # And back, to each.
                for target in devices:
                    back = jax.dlpack.from_dlpack(there, device=target)
                    assert back.devices() == {target} and back.dtype == x.dtype
                    assert (np.asarray(back) == np.asarray(x)).all()
        there = torch.from_dlpack(jnp.ones(3))
        transposed = jax.dlpack.from_dlpack(torch.from_dlpack(jnp.asarray(host)).T.contiguous(), device=devices[0])
        there += 1
        print(transposed.tolist() == host.T.tolist(), there.sum().item(), jax.jit(jnp.sum)(transposed))
    """, JAX_PLATFORMS="xpu,isthmus,cpu")
    assert result.stdout == "True 6.0 15.0\n"


def test_three_platforms_share_a_process(xpu):
    xpu("""
        import jax, jax.numpy as jnp, numpy as np
        devices = [jax.devices(platform)[0] for platform in ("isthmus", "xpu", "cpu")]
        for device in devices:
            x = jax.jit(lambda x: jnp.sort(-x) * 2)(jax.device_put(np.arange(6, dtype=np.float32), device))
            assert x.devices() == {device}
            assert np.from_dlpack(x).tolist() == [-10, -8, -6, -4, -2, 0]
            assert jax.dlpack.from_dlpack(x).devices() == {device}
            for other in devices:
                for moved in (jax.device_put(x, other), jax.dlpack.from_dlpack(x, device=other)):
                    assert moved.devices() == {other} and moved.tolist() == x.tolist()
    """, JAX_PLATFORMS="isthmus,xpu,cpu")


def test_caller_that_runs_ahead_does_not_take_memory_for_each_program(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp, resource
        f = jax.jit(lambda x: jnp.sin(jnp.cos(jnp.sin(jnp.cos(x)))))
        x = jnp.ones(1 << 22, jnp.float32)
        f(x).block_until_ready()
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        for _ in range(24):
            y = f(x)  # 16 MB, which take the device longer than the caller
        y.block_until_ready()
        print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
    """)
    assert int(result.stdout) < 6 * 16 << 10  # in KB


def test_little_is_over_when_the_call_returns(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp, numpy as np, time
        from jax import lax
        add = jax.jit(lambda x: x + 1)
        long = jax.jit(lambda x: lax.fori_loop(0, 200_000_000, lambda i, x: x * 0.5 + 1, x))
        x = jax.device_put(np.ones(64, np.float32))
        print("copies", x.is_ready())
        jax.block_until_ready((add(x), long(x[0])))
        time.sleep(0.1)  # until nobody waits any more
        print("programs", all(add(x).is_ready() for _ in range(10)))
        time.sleep(0.1)
        begin = time.perf_counter()
        y = long(x[0])
        z = add(x)  # has nothing to do with it, and yet nobody must wait for it
        print("others", time.perf_counter() - begin < 0.05, y.is_ready(), z.sum())
        print(repr(jax.devices()[0].client.platform_version))
    """)
    copies, programs, others, driver = result.stdout.splitlines()
    assert (copies, others) == ("copies True", "others True False 128.0")
    # PoCL's threads, which are woken, compute its programs, whoever waits: they may be over or not.
    if "Intel" in driver:
        assert programs == "programs True"


# Where a thread that waits computes, a call of who waits every time does.
def test_programs_of_callers_who_wait_are_over_when_the_call_returns(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp, time
        from jax import lax
        programs = {
            "chain": (jax.jit(lambda x: jnp.tanh(jnp.tanh(x @ x) @ x)), jnp.ones((64, 64))),
            "host": (jax.jit(lambda x: jnp.linalg.cholesky(x @ x.T + jnp.eye(16))), jnp.ones((16, 16))),
            "rounds": (jax.jit(lambda x: lax.fori_loop(0, 20, lambda i, x: jnp.sort(x * 0.5), x)), jnp.ones(64)),
        }
        for name, (f, x) in programs.items():
            deadline, over = time.perf_counter() + 60, 0
            while over < 30 and time.perf_counter() < deadline:
                y = f(x)
                over = over + 1 if y.is_ready() else 0
                y.block_until_ready()
            print(name, over == 30)
        print(repr(jax.devices()[0].client.platform_version))
    """)
    *over, driver = result.stdout.splitlines()
    if "Intel" in driver:
        assert over == ["chain True", "host True", "rounds True"]


def test_donated_arrays_are_gone(xpu):
    result = xpu("""
        import jax
        x = jax.numpy.ones((4, 4))
        y = jax.jit(lambda x: x + 1, donate_argnums=0)(x)
        print(x.is_deleted(), y.sum())
    """)
    assert result.stdout == "True 32.0\n"


def test_host_operations_are_logged(xpu):
    result = xpu("import jax; print(jax.numpy.linalg.cholesky(jax.numpy.eye(2)).sum())",
                 ISTHMUS_LOG="info")
    assert result.stdout == "2.0\n"
    assert "runs on the host" in result.stderr


def test_fault_in_a_program_is_an_error(xpu):
    result = xpu("""
        import jax
        try:
            jax.jit(lambda x: jax.ffi.ffi_call("absent", jax.ShapeDtypeStruct((), "float32"))(x))(1.)
        except Exception as error:
            print("absent" in str(error))
    """)
    assert result.stdout == "True\n"


FAULTY = LIBRARY.parents[1] / "backends/opencl/libisthmus_faulty_opencl.so"


def test_joins_a_thousand_independent_copies(xpu):
    result = xpu("""
        import jax, jax.numpy as jnp, numpy as np
        x = [np.full(7, i, np.float32) for i in range(1000)]
        f = jax.jit(lambda *x: (jnp.concatenate(x), 0))
        print(all((np.asarray(f(*x)[0]) == np.concatenate(x)).all() for _ in range(4)))
    """)
    assert result.stdout == "True\n"


# The driver by name, with failures.
FAULTY_DRIVERS = {
    "pocl": {"ISTHMUS_OPENCL_DEVICE": "portable"},
    "intel": {"OCL_ICD_VENDORS": DRIVERS["intel"][0]["ISTHMUS_OPENCL_LIBRARY"], "ISTHMUS_OPENCL_DEVICE": "intel"},
}


@pytest.fixture(params=FAULTY_DRIVERS)
def faulty(python, request):
    if not FAULTY.is_file():
        pytest.skip("libisthmus_faulty_opencl.so is not built")
    for driver in ("pocl", request.param):
        if not DRIVERS[driver][1]:
            required.lacks(f"NO OPENCL DRIVER of {driver}")
    return lambda code: python(code, JAX_PLATFORMS="xpu", ISTHMUS_XPU_LIBRARY_PATH=LIBRARY,
                               ISTHMUS_OPENCL_LIBRARY=FAULTY, **FAULTY_DRIVERS[request.param])


def test_failed_kernel_is_named_and_poisons_its_results(faulty):
    result = faulty("""
        import os
        import jax, numpy as np
        x = jax.device_put(np.ones(3, np.float32))
        f, g = jax.jit(lambda x: x + 1).lower(x).compile(), jax.jit(lambda x: x * 2).lower(x).compile()
        print(f(x)[0], g(x)[0])
        os.environ["FAULTY_OPENCL_KERNEL"] = "kernel0"
        y = f(x)
        os.environ["FAULTY_OPENCL_KERNEL"] = ""
        for value in (y, g(y)):
            try:
                value.block_until_ready()
            except Exception as error:
                print("kernel0 (stablehlo.add at" in str(error), "CL_INVALID_KERNEL_ARGS" in str(error))
        print(f(x)[0], g(x)[0])
    """)
    assert result.stdout == "2.0 2.0\nTrue True\nTrue True\n2.0 2.0\n"


# Whether or not the caller waits for the program, and although what waits for the kernel runs.
def test_failure_of_any_kernel_of_a_program_is_told(faulty):
    result = faulty("""
        import os
        import jax, jax.numpy as jnp, numpy as np
        x = jax.device_put(np.ones((700, 700), np.float32))
        def chain(x):
            y = jnp.tanh(x).sum(0)
            return jnp.sort(y * y.sum()).sum()
        def with_host(x):
            return jnp.tanh(jnp.linalg.cholesky(x * 0.001 + jnp.eye(700))).sum(0)
        for f in (chain, with_host):
            f = jax.jit(f).lower(x).compile()
            good = np.asarray(f(x))
            for kernel in [f"kernel{i}" for i in range(6)]:
                for _ in range(6):
                    os.environ["FAULTY_OPENCL_KERNEL"] = kernel
                    try:
                        f(x).block_until_ready()
                    except Exception as error:
                        print("faulty OpenCL:", kernel if kernel in str(error) else error)
                    os.environ["FAULTY_OPENCL_KERNEL"] = ""
                    y, z = f(x), f(x)  # two at once now and then
                    assert (np.asarray(y) == good).all() and (np.asarray(z) == good).all()
    """)
    injected = [line for line in result.stderr.splitlines() if line.startswith("faulty OpenCL")]
    assert len(injected) >= 24
    assert result.stdout.splitlines() == injected


# A device without 64-bit floats, as many GPUs are.
DOUBLES = """
    import jax, jax.numpy as jnp, numpy as np
    jax.config.update("jax_enable_x64", True)
    def train(w, x, y):
        def loss(w):
            return jnp.mean((jnp.tanh(x @ w) - y) ** 2)
        def step(_, w):
            return w - 0.1 * jax.grad(loss)(w)
        w = jax.lax.fori_loop(0, 5, step, w)
        return w, jnp.linalg.cholesky(w.T @ w + jnp.eye(3)), jnp.sort(x, 0), x.astype(jnp.float32) * 2
    random = np.random.default_rng(3)
    arguments = [random.standard_normal(shape) for shape in ((4, 3), (9, 4), (9, 3))]
    f = jax.jit(train)
"""


@pytest.mark.skipif(not FAULTY.is_file(), reason="libisthmus_faulty_opencl.so is not built")
@required.needs(DRIVERS["pocl"][1], "NO OPENCL DRIVER of pocl: apt-get install pocl-opencl-icd")
@pytest.mark.parametrize("fallback", ["", "cpu"])
def test_what_a_device_lacks_is_refused_or_falls_to_the_cpu(python, fallback):
    result = python(DOUBLES + """
    try:
        ours = f(*arguments)
    except Exception as error:
        print("UNIMPLEMENTED" in str(error), "64-bit floats" in str(error), "stablehlo." in str(error))
    else:
        with jax.default_device(jax.devices("cpu")[0]):
            theirs = f(*arguments)
        for mine, other in zip(ours, theirs):
            assert mine.devices() != other.devices()
            np.testing.assert_allclose(mine, other, rtol=1e-12, atol=1e-12)
        print("agrees")
    """, JAX_PLATFORMS="xpu,cpu", ISTHMUS_XPU_LIBRARY_PATH=LIBRARY, ISTHMUS_OPENCL_LIBRARY=FAULTY,
                    ISTHMUS_OPENCL_DEVICE="portable", FAULTY_OPENCL_LACKS="cl_khr_fp64", ISTHMUS_FALLBACK=fallback)
    assert result.stdout == ("agrees\n" if fallback else "True True True\n")
    lines = [line for line in result.stderr.splitlines() if "ISTHMUS_FALLBACK" in line]
    assert all("warning: ISTHMUS_FALLBACK: stablehlo." in line and line.endswith("; the CPU does it instead")
               for line in lines)
    assert bool(lines) == bool(fallback)
    if fallback:
        assert any("dot_general" in line for line in lines) and len(lines) > 3


def test_explains_kernels_by_the_share_of_peaks(xpu, tmp_path):
    result = xpu("""
        import json, pathlib
        from isthmus import explain
        pathlib.Path("steps.mlir").write_text('''
            func.func @main(%x: tensor<512x96xbf16>, %w: tensor<96x128xbf16>) -> tensor<512x128xbf16> {
              %t = stablehlo.tanh %x : tensor<512x96xbf16>
              %p = stablehlo.dot_general %t, %w, contracting_dims = [1] x [0]
                  : (tensor<512x96xbf16>, tensor<96x128xbf16>) -> tensor<512x128xbf16>
              func.return %p : tensor<512x128xbf16>
            }''')
        # As if an earlier process had measured them.
        explain.peak_flops = explain.peak_bytes = lambda *_: 1e9
        explain.peaks(explain.client_of("xpu"), {"bf16", "f32"})
        del explain.peak_flops, explain.peak_bytes
        report = explain.explain("steps.mlir", runs=3, platform="xpu")
        print(json.dumps([report.head(), report.rows]))
    """, XDG_CACHE_HOME=tmp_path)
    head, rows = json.loads(result.stdout)
    assert "IsthmusXpuDevice(id=0" in head and "1 GFLOP/s (bf16), 1.0 GB/s" in head
    by_name = {row["name"].split()[-1]: row for row in rows}
    product, tanh = by_name["dot_general"], by_name["tanh"]
    assert len(rows) == 2 and product["source"] == "program:4"
    # However many kernels the product takes, it is counted once.
    assert [row["count"] for row in rows] == [1, 1]
    assert (product["type"], tanh["type"]) == ("bf16", "f32")
    assert product["flops"] == 2 * 512 * 96 * 128 and tanh["bytes"] == 2 * 2 * 512 * 96
    for row in rows:
        assert row["seconds"] > 0
        assert row["peak"] == pytest.approx(max(row["flops"], row["bytes"]) / row["seconds"] / 1e9)


def test_profiles_name_kernels_and_calls_of_the_host(xpu):
    result = xpu("""
        import glob, jax, jax.numpy as jnp
        @jax.jit
        def f(x):
            y = jnp.tanh(x @ x).sum(1)
            # Too much of a product for the loop to be one kernel.
            return jax.lax.fori_loop(0, 300, lambda i, y: jnp.sin(y + x[i % 64] @ x), y), jnp.linalg.cholesky(x)
        x = jnp.eye(600)
        jax.block_until_ready(f(x))
        with jax.profiler.trace("profile"):
            jax.block_until_ready(f(x))
        data = jax.profiler.ProfileData.from_file(glob.glob("profile/plugins/profile/*/*.xplane.pb")[0])
        plane, = (plane for plane in data.planes if plane.name.startswith("/device:"))
        lines = {line.name: list(line.events) for line in plane.lines}
        module, = lines["XLA Modules"]
        steps = lines["XLA Ops"]
        names = [step.name.split()[-1] for step in steps]
        print(module.name, sum("potrf" in name for name in names), names.count("reduce)"),
              sum("dot_general" in step.name for step in steps))
        print(all(module.start_ns <= step.start_ns and step.end_ns <= module.end_ns + 1000 for step in steps))
    """)
    assert result.stdout == "jit_f 1 1 301\nTrue\n"
