"""Products of platform xpu by each OpenCL driver that is installed: epilogues, and schedules that are edited."""

import re
import textwrap

import pytest
import required

required.module("isthmus.xpu_backend")

from opencl_drivers import COMPARE  # noqa: E402

# Each of these is one product that has an epilogue, in every form: of few elements and many, of rows and columns that tiles do not
# divide, of several results, mixed types, batches, and operands that are read at other places.
EPILOGUES = """
    gelu = lambda x: jax.nn.gelu(x, approximate=False)
    def layer(x, w, b): return gelu(x @ w + b)
    compare(layer, array(128, 96), array(96, 256), array(256), tolerance=1e-5)
    compare(layer, array(131, 37), array(37, 261), array(261), tolerance=1e-5)
    compare(lambda x, w, b, r: jax.nn.relu(x @ w + b) + r, array(70, 64), array(64, 48), array(48), array(70, 48), tolerance=1e-5)
    compare(lambda x, w: (x @ w) > 0, array(40, 33), array(33, 40))
    compare(lambda x, w, s: jnp.einsum("bik,bkj->bij", x, w) * s[:, None, None], array(5, 40, 30), array(5, 30, 44), array(5),
            tolerance=1e-5)
    compare(lambda x, w, b: jnp.tanh(jnp.einsum("abk,kcd->abcd", x, w) + b), array(6, 7, 50), array(50, 4, 10), array(4, 10),
            tolerance=1e-5)
    compare(lambda x, w, b: (x.T @ w.T + b).astype(jnp.bfloat16), array(50, 65), array(130, 50), array(130), tolerance=1e-2)
    i, j = random.integers(-9, 9, (67, 130)).astype(np.int8), random.integers(-9, 9, (130, 70)).astype(np.int8)
    compare(lambda i, j, s: lax.dot(i, j, preferred_element_type=jnp.int32) * s, i, j, array(70), tolerance=1e-6)
    # Few lines, whose terms groups share, and split among groups.
    compare(lambda x, w, b: jnp.tanh(x @ w + b), array(4096), array(4096, 50) / 64, array(50), tolerance=1e-4)
    compare(lambda x, w, b: jnp.tanh(w @ x + b), array(1000), array(300, 1000) / 64, array(300), tolerance=1e-4)
    compare(lambda x, w, b: jnp.tanh(x @ w.T + b), array(3, 2000), array(130, 2000) / 64, array(130), tolerance=1e-4)
"""
COUNT = 11
NARROW = """
    x, w, b, r = (array(*s).astype(jnp.bfloat16) for s in ((70, 96), (96, 130), (130,), (70, 130)))
    compare(lambda x, w, b, r: jax.nn.relu(x @ w + b) + r, x, w, b, r, tolerance=3e-2)
    compare(lambda x, w, b: jax.nn.gelu(lax.dot(x, w, preferred_element_type=jnp.float32) + b, approximate=False).astype(x.dtype),
            x, w, b, tolerance=3e-2)
    # One column, whose rows are the lanes: of vectors, one element was stored.
    compare(lambda x, v: jnp.abs(v @ x), array(17, 64), array(17), tolerance=1e-5)
    compare(lambda x, v: jnp.abs(v @ x) + 1, array(20, 72), array(20), tolerance=1e-5)
    # Vectors of other types are summed by kernels of no products, and so is one term.
    compare(lambda x, v: jnp.abs(v @ x), array(16, 64).astype(jnp.bfloat16), array(16).astype(jnp.bfloat16), tolerance=3e-2)
    compare(lambda x, v: jnp.abs(v @ x) + 1, random.integers(-9, 9, (16, 72)).astype(np.int32),
            random.integers(-9, 9, 16).astype(np.int32), tolerance=0)
    compare(lambda x, y: jnp.abs(lax.dot_general(x, y, (((), ()), ((), ())), preferred_element_type=jnp.int32)),
            np.arange(-32, 32).astype(np.int8), np.int8(3), tolerance=0)
"""
FORMS = ["", "groups", "elements", "emulated-matrices"]


def compared(program):
    return COMPARE + textwrap.indent(textwrap.dedent(program), "    ")


def override_of(dumped, folder):
    """Overrides are by programs' names, dumps by their numbers as well."""
    return folder / "override" / dumped.parent.name.split("-", 1)[1] / dumped.name


def products(log):
    """The schedules of products that have an epilogue."""
    return re.findall(r"kernel \d+ .*?; (dot results=[^(\n]*)", log)


@pytest.mark.parametrize("form", FORMS)
def test_work_on_sums_is_done_by_the_products_kernel(xpu, form):
    log = xpu(COMPARE + EPILOGUES, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="compile").stderr
    assert len(products(log)) == COUNT, log
    log = xpu(COMPARE + NARROW, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="compile").stderr
    assert len(products(log)) == 4, log


@pytest.mark.parametrize("form", FORMS)
def test_a_product_that_others_read_is_stored_as_well(xpu, form):
    log = xpu(compared("""
        def both(x, w, v):
            y = x @ w
            return jnp.tanh(y) + 1, y @ v, y
        compare(both, array(64, 32), array(32, 48), array(48, 16), tolerance=1e-5)
        # Over the operand that it adds.
        f = jax.jit(lambda x, w, r: x @ w + r, donate_argnums=2)
        x, w, r = array(70, 40), array(40, 90), array(70, 90)
        assert np.allclose(f(x, w, jnp.array(r)), x @ w + r, atol=1e-4)
        # In loops that become one kernel, and in those that do not.
        def rounds(x, w, b, n): return lax.fori_loop(0, n, lambda i, x: jnp.tanh(x @ w + b), x)
        compare(lambda *all: rounds(*all, 5), array(1, 24), array(24, 24), array(24), tolerance=1e-5)
        compare(lambda *all: rounds(*all, 3), array(300, 400), array(400, 400) / 20, array(400), tolerance=1e-4)
    """), ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="compile").stderr
    assert any("results=0,1" in text for text in products(log)), log


# Of arrays with zeros between their elements, and so much work that each phase of the results is a convolution: results that phases
# do not divide, gradients, groups, features in front, phases that meet no place of the window, padding below zero.
DILATED = """
    last, first = ("NHWC", "HWIO", "NHWC"), ("NCHW", "OIHW", "NCHW")
    def dilated(x, w, by, padding, numbers=last, **more):
        compare(lambda x, w: jnp.tanh(lax.conv_general_dilated(x, w, (1, 1), padding, by, dimension_numbers=numbers, **more)),
                x, w, tolerance=2e-4)
    dilated(array(2, 15, 14, 64), array(3, 3, 64, 64) / 16, (2, 2), [(2, 1), (1, 1)])
    dilated(array(2, 15, 14, 64), array(3, 2, 64, 64) / 16, (1, 3), [(-1, 4), (-2, 5)])
    dilated(array(2, 64, 15, 14), array(64, 64, 3, 4) / 16, (2, 2), [(1, 2), (0, 7)], first)
    dilated(array(3, 20, 17, 64), array(3, 3, 32, 64) / 16, (2, 1), [(1, 1), (2, 0)], feature_group_count=2)
    def strided(x, w):
        return jax.grad(lambda x, w: (lax.conv_general_dilated(x, w, (2, 2), "SAME", dimension_numbers=last) ** 2).sum(), (0, 1))(x, w)
    compare(strided, array(4, 19, 16, 64), array(3, 3, 64, 64) / 16, tolerance=1e-3)
    compare(strided, array(4, 32, 33, 64), array(1, 1, 64, 64) / 16, tolerance=1e-3)
"""


@pytest.mark.parametrize("form", FORMS)
def test_convolutions_are_split_into_the_phases_of_zeros_between_elements(xpu, form):
    log = xpu(COMPARE + DILATED, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="compile").stderr
    assert len(re.findall(r"kernel \d+ .*concatenate at", log)) >= 6, log


@pytest.mark.parametrize("form, edits", [
    ("groups", (("tile=64x64x16 each=4x4", "tile=32x64x32 each=2x4"),)),
    # As many rows as the registers hold, which the instruction set decides.
    ("", ((r"each=\d+x2", "each=3x4"), (" copies=columns", ""))),
])
def test_an_edited_schedule_is_obeyed(xpu, tmp_path, form, edits):
    program = compared("""
        def plain(x, w): return x @ w
        def layer(x, w, b): return jnp.tanh(x @ w + b)
        compare(plain, array(200, 128), array(128, 192), tolerance=1e-5)
        compare(layer, array(200, 128), array(128, 192), array(192), tolerance=1e-5)
    """)
    xpu(program, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_DUMP=tmp_path / "dump")
    if not form and "form=vectors" not in "".join(p.read_text() for p in (tmp_path / "dump").rglob("*schedule.mlir")):
        pytest.skip("this driver's kernels have no vectors")
    edited = 0
    for schedule in (tmp_path / "dump").rglob("*schedule.mlir"):
        text = schedule.read_text()
        for before, after in edits:
            text, count = re.subn(before, after, text)
            edited += count
        target = override_of(schedule, tmp_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(text)
    assert edited >= 2 * len(edits)
    xpu(program, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_OVERRIDE=tmp_path / "override", ISTHMUS_DUMP=tmp_path / "after")
    kernels = [path.read_text() for path in (tmp_path / "after").rglob("kernels.ll")]
    assert kernels != [path.read_text() for path in (tmp_path / "dump").rglob("kernels.ll")]


@pytest.mark.parametrize("form", ["groups"])
def test_a_schedule_that_cannot_be_is_refused(xpu, tmp_path, form):
    program = "import jax, numpy as np\njax.jit(lambda x, w: x @ w).lower(np.ones((64, 64), np.float32), np.ones((64, 64), np.float32)).compile()"
    xpu(program, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_DUMP=tmp_path / "dump")
    for schedule in (tmp_path / "dump").rglob("*schedule.mlir"):
        target = override_of(schedule, tmp_path)
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(schedule.read_text().replace("each=4x4", "each=9x9"))
    result = xpu(f"""
        try:
            {program.replace(chr(10), chr(10) + "            ")}
        except Exception as error:
            print(error)
    """, ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_OVERRIDE=tmp_path / "override")
    assert "sums do not fit a thread's registers" in result.stdout


@pytest.mark.parametrize("form", FORMS)
def test_products_of_bytes_are_exact(xpu, form):
    """Where they are summed as floats, of as many terms as these hold without an error."""
    log = xpu(compared("""
        def product(x, w): return lax.dot(x, w, preferred_element_type=jnp.int32)
        for terms in (5, 1024, 1025, 3000):
            for dtype, least, most in ((np.int8, -128, -127), (np.int8, -128, 128), (np.uint8, 255, 256), (np.uint8, 0, 256)):
                x, w = (random.integers(least, most, shape).astype(dtype) for shape in ((40, terms), (terms, 50)))
                compare(product, x, w, tolerance=0)
    """), ISTHMUS_OPENCL_KERNELS=form, ISTHMUS_LOG="compile").stderr
    schedules = re.findall(r"dot results=0 of=0 form=vectors[^(]*", log)
    assert all("floats" in text for text in schedules), schedules


@pytest.mark.parametrize("form", FORMS)
def test_large_products_of_bytes_are_exact(xpu, form):
    """Of which the host has instructions: between kernels of the device, and in a loop."""
    xpu(compared("""
        def product(x, w): return lax.dot(x, w, preferred_element_type=jnp.int32)
        def layer(x, w, b): return product(-x, w) * 2 + b
        x, w = (random.integers(-128, 128, shape).astype(np.int8) for shape in ((250, 512), (512, 300)))
        compare(layer, x, w, np.int32(7), tolerance=0)
        def rounds(x, w): return lax.fori_loop(0, 4, lambda i, y: (product(y, w) >> 8).astype(jnp.int8), x)
        compare(rounds, random.integers(-128, 128, (300, 300)).astype(np.int8), w[:300], tolerance=0)
    """), ISTHMUS_OPENCL_KERNELS=form)


@pytest.mark.parametrize("form", FORMS)
def test_large_products_of_bfloat16_agree_with_cpu(xpu, form):
    """Of which the host may have instructions: between kernels of the device, and in a loop."""
    xpu(compared("""
        def narrow(*shape): return array(*shape).astype(jnp.bfloat16)
        def layer(x, w, b): return jax.nn.relu(-x @ w + b)
        compare(layer, narrow(250, 512), narrow(512, 300) / 16, narrow(300), tolerance=0.04)
        def sums(x, w): return lax.dot(x, w, preferred_element_type=jnp.float32)
        compare(sums, narrow(256, 512), narrow(512, 256), tolerance=1e-3)
        compare(lambda x, w: lax.fori_loop(0, 4, lambda i, y: jnp.tanh(sums(y, w)).astype(y.dtype), x),
                narrow(300, 300), narrow(300, 300) / 32, tolerance=0.04)
        def convolve(x, w, images="NHWC"):
            return lax.conv_general_dilated(x, w, (1, 1), "SAME", dimension_numbers=(images, "HWIO", images),
                                            preferred_element_type=jnp.float32)
        x, w = narrow(4, 28, 28, 48), narrow(3, 3, 48, 32)
        compare(convolve, x, w, tolerance=1e-3)
        compare(lambda x, w: convolve(x, w, "NCHW"), x.transpose(0, 3, 1, 2), w, tolerance=1e-3)
        compare(jax.grad(lambda x, w: (convolve(x, w) * convolve(x * 0 + 1, w * 0 + 1)).mean(), (0, 1)), x, w, tolerance=0.04)
        integers = [random.integers(-9, 9, shape).astype(np.int8) for shape in (x.shape, w.shape)]
        compare(lambda x, w: lax.conv_general_dilated(
            x, w, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC"), preferred_element_type=jnp.int32), *integers, tolerance=0)
    """), ISTHMUS_OPENCL_KERNELS=form)


def test_products_of_bfloat16_are_the_hosts_where_it_has_tiles(xpu):
    """The device's driver is given no instruction for them."""
    program = compared("""
        x, w = (array(512, 512).astype(jnp.bfloat16) for _ in "xw")
        compare(lambda x, w: x @ w, x, w / 32, tolerance=0.04)
        image, kernel = array(4, 28, 28, 64).astype(jnp.bfloat16), array(3, 3, 64, 64).astype(jnp.bfloat16)
        compare(lambda x, w: lax.conv_general_dilated(x, w / 32, (1, 1), "SAME", dimension_numbers=("NHWC", "HWIO", "NHWC")),
                image, kernel, tolerance=0.04)
        # Features that lie apart are put side by side first.
        compare(lambda x, w: lax.conv(x, w / 32, (1, 1), "SAME"), image.transpose(0, 3, 1, 2), kernel.transpose(3, 2, 0, 1),
                tolerance=0.04)
    """)
    with open("/proc/cpuinfo") as lines:
        has_tiles = {"amx_tile", "amx_bf16"} <= set(lines.read().split())

    def on_host(isa):
        log = xpu(program, ISTHMUS_LOG="compile", ISTHMUS_MAX_ISA=isa).stderr
        if "form=vectors" not in log:
            pytest.skip("the driver's kernels have no vectors: the device does not count as the host")
        return log.count("is computed in the form")

    assert on_host("bf16") == 0
    assert on_host("amx") == (3 if has_tiles else 0)
