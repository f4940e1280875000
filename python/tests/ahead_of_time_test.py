"""Compilation apart from running: export, topologies, serialized executables, the cache, analyses."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.experimental import serialize_executable, topologies
from jax.sharding import Mesh, NamedSharding, PartitionSpec


def test_export_with_symbolic_shapes(ours):
    pytest.importorskip("flatbuffers")
    rows = jax.export.symbolic_shape("b, 3")
    exported = jax.export.export(jax.jit(lambda x: jnp.cumsum(jnp.sin(x), axis=0)))(
        jax.ShapeDtypeStruct(rows, jnp.float32))
    assert exported.platforms == ("cpu",)
    loaded = jax.export.deserialize(exported.serialize())
    for count in (1, 4):
        values = np.random.default_rng(count).normal(size=(count, 3)).astype(np.float32)
        result = jax.jit(loaded.call)(jax.device_put(values, ours))
        assert result.device == ours
        np.testing.assert_allclose(result, np.cumsum(np.sin(values), axis=0), rtol=1e-5, atol=1e-6)


def test_export_runs_on_the_other_client(ours, theirs):
    pytest.importorskip("flatbuffers")
    exported = jax.export.export(jax.jit(jnp.cos))(jax.ShapeDtypeStruct((4,), jnp.float32))
    loaded = jax.export.deserialize(exported.serialize())
    values = np.arange(4, dtype=np.float32)
    for device in (ours, theirs):
        np.testing.assert_allclose(loaded.call(jax.device_put(values, device)), np.cos(values),
                                   rtol=1e-6)


def test_serialized_executable(ours):
    values = jax.device_put(np.arange(12, dtype=np.float32).reshape(3, 4), ours)
    compiled = jax.jit(lambda x: {"product": x @ x.T}).lower(values).compile()
    loaded = serialize_executable.deserialize_and_load(
        *serialize_executable.serialize(compiled), execution_devices=[ours])
    np.testing.assert_array_equal(loaded(values)["product"], np.asarray(values) @ np.asarray(values).T)


@pytest.mark.parametrize("name, count", [("cpu:4", 4), ("isthmus:2", 2), ("", 2)])
def test_topology(ours, name, count):
    topology = topologies.get_topology_desc(name, "isthmus")
    assert len(topology.devices) == count
    mesh = Mesh(np.array(topology.devices), ("x",))
    split = NamedSharding(mesh, PartitionSpec("x"))
    compiled = jax.jit(lambda x: x * 2, in_shardings=split, out_shardings=split).lower(
        jax.ShapeDtypeStruct((8,), jnp.float32)).compile()
    assert compiled.memory_analysis().argument_size_in_bytes == 32 // count
    assert compiled.cost_analysis()["flops"] > 0


def test_a_program_for_a_topology_runs(ours):
    topology = topologies.get_topology_desc("cpu:1", "isthmus")
    sharding = NamedSharding(Mesh(np.array(topology.devices), ("x",)), PartitionSpec())
    compiled = jax.jit(lambda x: x * 2, in_shardings=sharding, out_shardings=sharding).lower(
        jax.ShapeDtypeStruct((4,), jnp.float32)).compile()
    loaded = serialize_executable.deserialize_and_load(
        *serialize_executable.serialize(compiled), execution_devices=[ours])
    np.testing.assert_array_equal(loaded(jnp.ones(4, device=ours)), [2, 2, 2, 2])


CACHED = """
    import jax, jax.numpy as jnp
    from jax._src import monitoring
    events = []
    monitoring.register_event_listener(lambda event, **_: events.append(event))
    print(float(jax.jit(lambda x: jnp.sin(x) @ x)(jnp.arange(64.0))))
    print("/jax/compilation_cache/cache_hits" in events)
"""


def test_persistent_cache(python, tmp_path):
    variables = dict(JAX_PLATFORMS="isthmus", JAX_COMPILATION_CACHE_DIR=tmp_path / "cache",
                     JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS=0,
                     JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES=-1)
    first = python(CACHED, **variables, ISTHMUS_DUMP=tmp_path / "first").stdout.split()
    second = python(CACHED, **variables, ISTHMUS_DUMP=tmp_path / "second").stdout.split()
    assert first[0] == second[0]
    assert (first[1], second[1]) == ("False", "True")
    # Loading compiles nothing, so there is nothing to dump.
    assert list(tmp_path.glob("first/**/*jit__lambda*"))
    assert not list(tmp_path.glob("second/**/*jit__lambda*"))


def test_analyses(ours):
    x = jax.ShapeDtypeStruct((64, 64), jnp.float32)
    compiled = jax.jit(lambda a: jnp.tanh(a @ a)).lower(x).compile()
    costs = compiled.cost_analysis()
    assert costs["flops"] == 2 * 64**3
    assert costs["transcendentals"] == 64**2
    memory = compiled.memory_analysis()
    assert memory.argument_size_in_bytes == memory.output_size_in_bytes == 4 * 64**2
    assert memory.generated_code_size_in_bytes > 0


def test_optimized_program_is_hlo(ours):
    weights = np.random.default_rng(0).normal(size=(100, 100)).astype(np.float32)
    compiled = jax.jit(lambda x: jnp.sort(jnp.tanh(x @ weights), axis=0)).lower(
        jax.ShapeDtypeStruct((7, 100), jnp.float32)).compile()
    text = compiled.as_text()
    assert "sort" in text and "tanh" in text and "f32[100,100]" in text
    loaded = serialize_executable.deserialize_and_load(
        *serialize_executable.serialize(compiled), execution_devices=[ours])
    assert loaded.as_text() == text


def test_compiler_options(ours):
    double = jax.jit(lambda x: x * 2, compiler_options={"xla_embed_ir_in_executable": True})
    assert float(double(2.0)) == 4
    lowered = jax.jit(lambda x: x * 2).lower(1.0)
    with pytest.raises(jax.errors.JaxRuntimeError, match="No such compile option: 'no_such'"):
        lowered.compile(compiler_options={"no_such": 1})
    with pytest.raises(jax.errors.JaxRuntimeError, match="is not a valid bool value"):
        lowered.compile(compiler_options={"xla_embed_ir_in_executable": "perhaps"})


def test_text_of_boolean_constants(ours):
    mask = np.arange(300).reshape(3, 100) % 7 < 3
    with jax.default_device(ours):
        compiled = jax.jit(lambda x: jnp.where(mask, x, 0)).lower(jnp.ones((3, 100))).compile()
    assert "pred[3,100]" in compiled.as_text()
    np.testing.assert_array_equal(compiled(jax.device_put(np.ones((3, 100), np.float32), ours)), mask)
