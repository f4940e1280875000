"""Platform cuda over a driver without a GPU: registration, devices, arrays, errors, lowerings. What kernels compute:
cuda_kernels_test.py."""

import importlib
import pathlib
import textwrap

import pytest
import required

cuda_backend = required.module("isthmus.cuda_backend")

_BUILD = pathlib.Path(__file__).resolve().parents[2] / "build/release"
LIBRARY = _BUILD / "pjrt/libisthmus_cuda.so"
FAKE_DRIVER = _BUILD / "backends/cuda/libisthmus_fake_cuda.so"

# JAX looks for an NVIDIA GPU in the file system before it makes a client of this name.
PREFIX = "from jax._src import hardware_utils\nhardware_utils.has_visible_nvidia_gpu = lambda: True\n"


@pytest.fixture
def cuda(python):
    """A function that runs a program on platform cuda over the fake driver."""
    if not LIBRARY.is_file() or not FAKE_DRIVER.is_file():
        required.lacks("platform cuda is not built: ./dev build isthmus_cuda_plugin isthmus_fake_cuda")

    def run(program, check=True, **variables):
        # NVIDIA's own libraries, where a machine has them, have no use for the fake's streams.
        variables = {"ISTHMUS_CUDA_BLAS": "", "ISTHMUS_CUDA_DNN": "", "JAX_PLATFORMS": "cuda"} | variables
        return python(PREFIX + textwrap.dedent(program), check=check, ISTHMUS_CUDA_PLUGIN_PATH=str(LIBRARY),
                      ISTHMUS_CUDA_LIBRARY=str(FAKE_DRIVER), **variables)
    return run


def test_other_clients_of_xlas_plugin_make_one(cuda):
    """pypjrt asks whoever is called cuda not to reserve memory beforehand, which we never do."""
    pytest.importorskip("pypjrt", reason="the second JAX's environment has none")
    program = """
        import pypjrt
        print(pypjrt.Client.create(LIBRARY).platform_name)
        try:
            pypjrt.Client.create(LIBRARY, options={"preallocate": True}, allow_multiple=True)
        except pypjrt.errors.PjrtError as error:
            print(error)
    """.replace("LIBRARY", repr(str(LIBRARY)))
    made, refused = cuda(program).stdout.splitlines()[:2]
    assert made == "cuda" and "preallocate" in refused


@pytest.mark.parametrize("module, name, purpose", cuda_backend.PRIVATE_NAMES)
def test_jax_still_has(module, name, purpose):
    assert hasattr(importlib.import_module(module), name), f"JAX moved {module}.{name}: lost is {purpose}"


@pytest.mark.parametrize("folders, version", [
    ({"blas": "cublas/lib", "compiler": "cuda_nvcc", "nvrtc": "cuda_nvrtc/lib"}, 12),
    ({"blas": "cu13/lib", "compiler": "cu13", "nvrtc": "cu13/lib"}, 13)])
def test_finds_what_packages_bring(tmp_path, monkeypatch, folders, version):
    libdevice = tmp_path / "nvidia" / folders["compiler"] / "nvvm/libdevice/libdevice.10.bc"
    blas = tmp_path / "nvidia" / folders["blas"] / f"libcublasLt.so.{version}"
    dnn = tmp_path / "nvidia/cudnn/lib/libcudnn.so.9"
    nvrtc = tmp_path / "nvidia" / folders["nvrtc"] / f"libnvrtc.so.{version}"
    for file in (libdevice, blas, dnn, nvrtc):
        file.parent.mkdir(parents=True, exist_ok=True)
        file.touch()
    for name in ("ISTHMUS_CUDA_BLAS", "ISTHMUS_CUDA_DNN", "ISTHMUS_CUDA_LIBDEVICE"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    options = cuda_backend.client_options()
    assert {name: options.get(name) for name in ("cuda_blas", "cuda_dnn", "libdevice")} == {
        "cuda_blas": str(blas), "cuda_dnn": str(dnn), "libdevice": str(libdevice)}
    # cuDNN finds them once they are loaded; an empty file is no library, and passed over.
    assert cuda_backend.preload() == []
    if FAKE_DRIVER.is_file():
        nvrtc.unlink()
        nvrtc.symlink_to(FAKE_DRIVER)
        assert cuda_backend.preload() == [nvrtc]


def test_is_listed_with_its_driver(cuda):
    result = cuda("""
        from isthmus import info
        print(info.main([], runs_probes=False))
    """)
    assert "CudaDevice(id=0)" in result.stdout and "Fake GPU" in result.stdout


def test_devices(cuda):
    result = cuda("""
        import jax
        (device,) = jax.devices("cuda")
        print(device.device_kind, device.compute_capability, device.core_count)
        print(jax.default_backend(), device.memory_stats()["bytes_limit"])
    """)
    # As JAX calls it for CUDA.
    assert result.stdout == f"Fake GPU 9.0 4\ngpu {1 << 30}\n"


def test_arrays_go_there_and_back(cuda):
    result = cuda("""
        import jax, numpy as np
        x = np.arange(1000, dtype=np.float32).reshape(10, 100)
        a = jax.device_put(x)
        b = jax.device_put(a, jax.devices()[1])
        print((np.asarray(a) == x).all(), (np.asarray(b) == x).all(), b.devices())
    """, ISTHMUS_NUM_DEVICES="2")
    assert result.stdout == "True True {CudaDevice(id=1)}\n"


def test_arrays_are_shared_in_the_devices_memory(cuda):
    result = cuda("""
        import ctypes, os, jax, numpy as np
        fake = ctypes.CDLL(os.environ["ISTHMUS_CUDA_LIBRARY"])
        fake.fake_cuda_log.restype = ctypes.c_char_p
        waits = lambda: fake.fake_cuda_log().decode().count("wait for default stream 1")
        values = np.arange(64, dtype=np.float32)
        x = jax.device_put(values)
        for stream in (None, 1, 2):
            x.__dlpack__(stream=stream)
        y = jax.dlpack.from_dlpack(x)
        class Theirs:  # of a library that JAX does not know
            streams = []
            def __dlpack_device__(self):
                return x.__dlpack_device__()
            def __dlpack__(self, stream=None):
                self.streams.append(stream)
                return x.__dlpack__()
        before = waits()
        z = jax.dlpack.from_dlpack(Theirs())
        print(x.__dlpack_device__()[0] == 2, Theirs.streams, waits() - before)
        print((np.asarray(z) == values).all(), x.unsafe_buffer_pointer() == z.unsafe_buffer_pointer())
    """)
    assert result.stdout == "True [1] 1\nTrue True\n"


def test_linear_algebra_is_lowered_for_the_host(cuda):
    # JAX's own rules for cuda call cuSOLVER, which is not there.
    result = cuda("""
        import jax, jax.numpy as jnp
        text = jax.jit(jnp.linalg.qr).lower(jnp.zeros((3, 3))).as_text()
        print("lapack" in text, "cusolver" in text)
    """)
    assert result.stdout == "True False\n"


def test_random_numbers_have_no_loop(cuda):
    # JAX's rule for cpu has one of five rounds, each of which would read and write all numbers.
    result = cuda("""
        import jax
        bits = jax.jit(lambda key: jax.random.bits(key, (100,)))
        print("while" in bits.lower(jax.random.key(1)).as_text(), bits(jax.random.key(1)).sum())
    """)
    import jax
    assert result.stdout == f"False {jax.random.bits(jax.random.key(1), (100,)).sum()}\n"


def test_callbacks_run_on_the_host(cuda):
    result = cuda("""
        import jax
        jax.jit(lambda x: jax.debug.print("x is {}", x))(5.0)
        jax.effects_barrier()
    """)
    assert result.stdout == "x is 5.0\n"


def test_branches_by_platform(cuda):
    result = cuda("""
        import jax
        from jax import lax
        def f(x):
            return lax.platform_dependent(
                x, cpu=lambda x: x + 1, rocm=lambda x: x * 2, cuda=lambda x: x - 3, default=lambda x: x / 4)
        def g(x):
            return lax.platform_dependent(x, cpu=lambda x: x + 1, default=lambda x: x / 4)
        for branches in (f, g):
            text = jax.jit(branches).lower(1.0).as_text()
            print(*(op for op in ("add", "multiply", "subtract", "divide") if "stablehlo." + op in text))
    """)
    assert result.stdout == "subtract\ndivide\n"


@required.needs(LIBRARY.is_file(), "platform cuda is not built: ./dev build isthmus_cuda_plugin")
def test_without_a_driver_jax_stays_usable(python):
    result = python("""
        import jax
        from isthmus import cuda_backend
        print("no NVIDIA driver" in cuda_backend.why_not(), jax.numpy.arange(3).sum())
    """, JAX_PLATFORMS="cuda,cpu", ISTHMUS_CUDA_PLUGIN_PATH=str(LIBRARY),
        ISTHMUS_CUDA_LIBRARY="libnowhere.so.1")
    assert result.stdout == "True 3\n"
    assert "platform cuda of Isthmus is not available: there is no NVIDIA driver: libnowhere.so.1" in result.stderr


def test_is_not_replaced_by_the_cpu_where_jax_sees_no_gpu(cuda):
    result = cuda("""
        hardware_utils.has_visible_nvidia_gpu = lambda: False
        import jax
        print(jax.devices())
    """, check=False)
    assert result.returncode != 0 and result.stdout == ""
    assert "JAX sees no NVIDIA GPU on this machine" in result.stderr


@required.needs(LIBRARY.is_file(), "platform cuda is not built: ./dev build isthmus_cuda_plugin")
def test_is_not_registered_unless_asked_for(python):
    result = python("""
        import jax
        from isthmus import cuda_backend
        jax.devices()
        print(cuda_backend.why_not())
    """, ISTHMUS_CUDA_PLUGIN_PATH=str(LIBRARY), ISTHMUS_CUDA_LIBRARY=str(FAKE_DRIVER))
    assert "JAX_PLATFORMS does not name it" in result.stdout


# Kernels, steps of the host, control flow, constants.
CACHED = """
    import jax, jax.numpy as jnp, numpy as np
    counts = {}
    def count(name, **_):
        counts[name] = counts.get(name, 0) + 1
    jax.monitoring.register_event_listener(count)
    @jax.jit
    def f(x):
        x = jnp.sort(x, axis=0) @ x + np.arange(4, dtype=np.float32)
        x = jax.lax.fori_loop(0, 3, lambda i, c: c * 2 + 1, x)
        return jnp.linalg.cholesky(jax.lax.cond(x[0, 0] > 0, jnp.tanh, jnp.cos, x))
    f(np.ones((4, 4), np.float32)).block_until_ready()
    print(*(counts.get("/jax/compilation_cache/cache_" + kind, 0) for kind in ("hits", "misses")))
"""


def test_programs_come_from_the_compilation_cache(cuda, tmp_path):
    settings = {"JAX_COMPILATION_CACHE_DIR": tmp_path / "cache", "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": 0}
    first, second = (cuda(CACHED, **settings).stdout for _ in range(2))
    assert (first, second) == ("0 1\n", "1 0\n")
    # What is damaged is compiled again.
    (entry,) = (tmp_path / "cache").glob("jit_f-*-cache")
    entry.write_bytes(entry.read_bytes()[:-1])
    assert "jit_f" in cuda(CACHED, **settings).stderr


def test_executables_are_serialized(cuda):
    result = cuda("""
        import jax, numpy as np
        from jax.experimental import serialize_executable
        compiled = jax.jit(lambda x: np.float32(2) * x + 1).lower(np.ones(3, np.float32)).compile()
        data, *trees = serialize_executable.serialize(compiled)
        again = serialize_executable.deserialize_and_load(data, *trees, execution_devices=jax.devices()[:1])
        print(again(np.ones(3, np.float32)).shape, "multiply" in again.as_text())
    """)
    assert result.stdout == "(3,) True\n"


# Convolutions as layers have them, and the gradients that JAX makes of them; what they are called with comes last.
CONVOLUTIONS = """
    import jax, jax.numpy as jnp
    from jax import lax
    def compile(strides, padding, image, kernel, groups=1, dilation=(1, 1), order=("NHWC", "HWIO", "NHWC")):
        def loss(image, kernel):
            made = lax.conv_general_dilated(image, kernel, strides, padding, rhs_dilation=dilation,
                                            dimension_numbers=order, feature_group_count=groups)
            return jnp.sum(made.astype(jnp.float32) ** 2)
        arguments = [jax.ShapeDtypeStruct(shape, jnp.bfloat16) for shape in (image, kernel)]
        jax.jit(jax.grad(loss, (0, 1))).lower(*arguments).compile()
"""


def test_convolutions_and_their_gradients_are_cudnns(cuda):
    result = cuda(textwrap.dedent(CONVOLUTIONS) + textwrap.dedent("""
        compile((1, 1), "SAME", (8, 28, 28, 64), (3, 3, 64, 32))
        compile((2, 2), "SAME", (8, 28, 28, 64), (3, 3, 64, 32))
        compile((2, 2), [(3, 3), (3, 3)], (2, 64, 64, 3), (7, 7, 3, 64))
        compile((2, 2), "VALID", (8, 28, 28, 64), (1, 1, 64, 32))
        compile((2, 1), "SAME", (8, 64, 28, 28), (32, 64, 3, 3), order=("NCHW", "OIHW", "NCHW"))
        compile((1, 1), "SAME", (8, 28, 28, 64), (3, 3, 16, 32), groups=4)
        compile((1, 1), "SAME", (8, 28, 28, 64), (3, 3, 64, 32), dilation=(2, 2))
    """), ISTHMUS_LOG="compile", ISTHMUS_CUDA_DNN=str(FAKE_DRIVER), ISTHMUS_CUDA_BLAS="")
    assert "is not cuDNN's" not in result.stderr, result.stderr


def test_the_log_says_why_a_convolution_is_not_cudnns(cuda):
    said = [cuda(textwrap.dedent(CONVOLUTIONS) + 'compile((2, 2), "SAME", (8, 28, 28, 64), (3, 3, 1, 64), groups=64)',
                 ISTHMUS_LOG="compile", ISTHMUS_CUDA_DNN=library, ISTHMUS_CUDA_BLAS="").stderr
            for library in (str(FAKE_DRIVER), "")]
    dilated = "is not cuDNN's: the image is dilated, and there are groups"
    assert said[0].count("is not cuDNN's") == said[0].count(dilated) == 1
    assert said[1].count(dilated) == 1 and said[1].count("is not cuDNN's: it is not loaded") == 2


def test_explains_kernels_and_library_calls(cuda, tmp_path):
    result = cuda("""
        import pathlib
        from isthmus import explain
        pathlib.Path("steps.mlir").write_text('''
            func.func @main(%x: tensor<64x96xf32>, %w: tensor<96x32xf32>) -> tensor<64x32xf32> {
              %p = stablehlo.dot_general %x, %w, contracting_dims = [1] x [0]
                  : (tensor<64x96xf32>, tensor<96x32xf32>) -> tensor<64x32xf32>
              %t = stablehlo.tanh %p : tensor<64x32xf32>
              func.return %t : tensor<64x32xf32>
            }''')
        explain.peak_flops = explain.peak_bytes = lambda *_: 1e9
        report = explain.explain("steps.mlir", runs=3, platform="cuda")
        print("CudaDevice(id=0)" in report.head())
        for row in sorted(report.rows, key=lambda row: row["flops"]):
            print(row["name"].split()[-1], row["count"], row["flops"], row["bytes"], row["seconds"] > 0)
    """, XDG_CACHE_HOME=str(tmp_path), ISTHMUS_CUDA_BLAS=str(FAKE_DRIVER), ISTHMUS_CUDA_DNN="")
    assert result.stdout.splitlines() == [
        "True", f"tanh 1.0 0.0 {2 * 4 * 64 * 32}.0 True",
        f"dot_general 1.0 {2 * 64 * 96 * 32}.0 {4 * (64 * 96 + 96 * 32 + 64 * 32)}.0 True"]
    # The CPU's compiler, which is asked for the arguments, is not to be heard.
    assert "isthmus compile:" not in result.stderr


def test_libraries_of_packages_are_found(tmp_path, monkeypatch):
    nccl, cudnn = tmp_path / "nvidia/nccl/lib/libnccl.so.2", tmp_path / "nvidia/cudnn/lib/libcudnn.so.9"
    for library in nccl, cudnn, cudnn.with_name("libcudnn_graph.so.9"):
        library.parent.mkdir(parents=True, exist_ok=True)
        library.touch()
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    for variable in ("ISTHMUS_CUDA_NCCL", "ISTHMUS_CUDA_BLAS", "ISTHMUS_CUDA_DNN"):
        monkeypatch.delenv(variable, raising=False)
    assert cuda_backend.packaged_libraries() == {"cuda_dnn": str(cudnn), "cuda_nccl": str(nccl)}
    monkeypatch.setenv("ISTHMUS_CUDA_NCCL", "")
    assert cuda_backend.packaged_libraries() == {"cuda_dnn": str(cudnn)}
