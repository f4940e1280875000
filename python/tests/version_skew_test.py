"""Programs of every version of StableHLO that JAX can write, and of versions that do not exist yet."""

import re

import jax
import jax.numpy as jnp
import numpy as np
import pypjrt
import pytest
from jaxlib import _jax
from jaxlib.mlir.dialects import stablehlo


def versions():
    """From 0.9.0 to what this JAX writes, one for each minor."""
    newest = tuple(int(part) for part in stablehlo.get_current_version().split("."))
    found = [(0, minor, 0) for minor in range(9, 21)]
    found += [(1, minor, 0) for minor in range(newest[1])] + [newest]
    return [".".join(map(str, version)) for version in found]


def network(w, x):
    return jax.nn.softmax(jnp.tanh(x @ w), axis=-1)


def loop(x):
    return jax.lax.while_loop(lambda v: v[0] < 5, lambda v: (v[0] + 1, v[1] * 1.5), (0, x))[1]


def indexing(x):
    return jnp.sort(x)[::-1][jnp.array([1, 3])] + jnp.cumsum(x)[2]


SQUARE = np.linspace(-1, 1, 16, dtype=np.float32).reshape(4, 4)
PROGRAMS = {"network": (network, (SQUARE, SQUARE)), "loop": (loop, (SQUARE,)),
            "indexing": (indexing, (SQUARE[0],))}


@pytest.fixture(scope="module")
def client(library):
    with pypjrt.Client.create(str(library)) as client:
        yield client


@pytest.fixture(scope="module")
def lowered():
    """{name: (module, arguments, expected)}"""
    return {name: (jax.jit(function).lower(*arguments).compiler_ir("stablehlo"), arguments,
                   reference(name))
            for name, (function, arguments) in PROGRAMS.items()}


def reference(name):
    """The results in double precision, by NumPy."""
    x = SQUARE.astype(np.float64)
    if name == "network":
        y = np.exp(np.tanh(x @ x))
        return y / y.sum(axis=-1, keepdims=True)
    if name == "loop":
        return x * 1.5**5
    return np.sort(x[0])[::-1][[1, 3]] + np.cumsum(x[0])[2]


def run(client, code, arguments):
    kind = client._plugin.abi.PJRT_Buffer_Type_F32
    with client.compile(code) as executable, client.device(0) as device:
        buffers = [client.buffer_from_host(bytearray(a.tobytes()), kind, list(a.shape), device)
                   for a in arguments]
        return np.frombuffer(bytes(executable(*buffers)[0].to_host()), np.float32)


@pytest.mark.parametrize("version", versions())
def test_artifacts_of_every_version_run(client, lowered, version):
    written = 0
    for module, arguments, expected in lowered.values():
        try:
            code = _jax.mlir.serialize_portable_artifact(module, version, True)
        except Exception as error:
            # The program uses something newer than that version, which JAX says.
            assert re.search("serialize|version|legalize|convert", str(error), re.IGNORECASE), error
            continue
        assert f"StableHLO_v{version}".encode() in code
        got = run(client, code, arguments)
        np.testing.assert_allclose(got, expected.ravel(), rtol=2e-5, atol=1e-6)
        written += 1
    assert written > 0 or version.startswith("0."), f"JAX writes no program as {version}"


@pytest.fixture(scope="module")
def artifact(lowered):
    code = bytes(_jax.mlir.serialize_portable_artifact(lowered["loop"][0], "1.9.0", True))
    assert b"StableHLO_v1.9.0" in code and b"multiply_v1" in code
    return code


def test_newer_versions_of_what_is_known_run(client, lowered, artifact):
    """An artifact is what its operations are: StableHLO gives them versions of their own."""
    _, arguments, expected = lowered["loop"]
    got = run(client, artifact.replace(b"StableHLO_v1.9.0", b"StableHLO_v9.9.0"), arguments)
    np.testing.assert_allclose(got, expected.ravel(), rtol=2e-5)


def test_newer_operations_are_refused_by_name_and_version(client, artifact):
    newer = artifact.replace(b"StableHLO_v1.9.0", b"StableHLO_v9.9.0")
    with pytest.raises(pypjrt.errors.PjrtError, match=r"multiply_v7.*StableHLO_v9\.9\.0") as error:
        client.compile(newer.replace(b"multiply_v1", b"multiply_v7")).close()
    assert error.value.code == client._plugin.abi.PJRT_Error_Code_UNIMPLEMENTED
