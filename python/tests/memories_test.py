"""Memory kinds, their statistics, and views of host memory."""

import gc

import jax
import jax.numpy as jnp
import numpy as np
import pytest
from jax.ad_checkpoint import checkpoint_name
from jax.sharding import SingleDeviceSharding

KINDS = ("device", "pinned_host", "unpinned_host")


def test_kinds(ours):
    assert tuple(memory.kind for memory in ours.addressable_memories()) == KINDS
    assert ours.default_memory().kind == "device"


@pytest.mark.parametrize("kind", KINDS)
def test_device_put_and_back(ours, kind):
    place = SingleDeviceSharding(ours, memory_kind=kind)
    array = jax.device_put(np.arange(5.0, dtype=np.float32), place)
    assert array.sharding.memory_kind == kind
    back = jax.device_put(array, SingleDeviceSharding(ours, memory_kind="device"))
    assert back.sharding.memory_kind == "device"
    np.testing.assert_array_equal(back, np.arange(5.0))


@pytest.mark.parametrize("kind", KINDS)
def test_results_go_where_they_are_asked(ours, kind):
    place = SingleDeviceSharding(ours, memory_kind=kind)
    result = jax.jit(lambda x: x * 2, out_shardings=place)(jax.device_put(jnp.arange(4.0), ours))
    assert result.sharding.memory_kind == kind
    np.testing.assert_array_equal(result, [0, 2, 4, 6])


def test_transfers_inside_a_program(ours):
    host = jax.device_put(np.arange(4, dtype=np.float32),
                          SingleDeviceSharding(ours, memory_kind="pinned_host"))

    @jax.jit
    def step(x):
        x = jax.device_put(x, jax.memory.Space.Device)
        return jax.device_put(jnp.sin(x), jax.memory.Space.Host), x + 1

    offloaded, result = step(host)
    np.testing.assert_allclose(offloaded, np.sin(np.arange(4, dtype=np.float32)), rtol=1e-6)
    np.testing.assert_array_equal(result, [1, 2, 3, 4])


def test_offloaded_gradients(ours):
    policy = jax.checkpoint_policies.save_and_offload_only_these_names(
        names_which_can_be_saved=[], names_which_can_be_offloaded=["y"],
        offload_src="device", offload_dst="pinned_host")

    def loss(x):
        y = checkpoint_name(jnp.sin(x), "y")
        return jnp.sum(jnp.sin(y) * y)

    x = jax.device_put(np.linspace(0, 1, 16, dtype=np.float32), ours)
    expected = jax.grad(loss)(x)
    actual = jax.jit(jax.grad(jax.checkpoint(loss, policy=policy)))(x)
    np.testing.assert_allclose(actual, expected, rtol=1e-6)


def test_statistics_follow_arrays(ours):
    gc.collect()
    before = ours.memory_stats()["bytes_in_use"]
    array = jax.block_until_ready(jnp.full((1 << 20,), 2.0, device=ours))
    assert ours.memory_stats()["bytes_in_use"] - before == 4 << 20
    assert ours.memory_stats()["peak_bytes_in_use"] >= 4 << 20
    array.delete()
    assert ours.memory_stats()["bytes_in_use"] == before


def test_views_share_memory(ours, theirs):
    array = jax.block_until_ready(jax.device_put(np.arange(1 << 16, dtype=np.float32), ours) + 1)
    address = array.unsafe_buffer_pointer()
    host = np.asarray(array)
    assert host.ctypes.data == address and not host.flags.writeable
    assert np.from_dlpack(array).ctypes.data == address
    there = jax.dlpack.from_dlpack(array, device=theirs, copy=False)
    assert there.device == theirs and there.unsafe_buffer_pointer() == address
    assert jax.dlpack.from_dlpack(there).device == theirs
    back = jnp.from_dlpack(there, device=ours, copy=False)
    assert back.device == ours and back.unsafe_buffer_pointer() == address
    # The memory stays while somebody looks at it.
    array.delete()
    del array, there, back
    gc.collect()
    np.testing.assert_array_equal(host[:3], [1, 2, 3])


@pytest.mark.parametrize("alignment, in_place", [(16, True), (8, False)])
def test_dlpack_copies_misaligned_memory_if_it_may(ours, alignment, in_place):
    memory = np.arange(64, dtype=np.int8)
    begin = (alignment - memory.ctypes.data) % 32
    values = memory[begin:begin + 16]
    array = jnp.from_dlpack(values)
    assert array.device == ours
    assert (array.unsafe_buffer_pointer() == values.ctypes.data) == in_place
    np.testing.assert_array_equal(array, values)
    copy = jnp.from_dlpack(values, copy=True)
    assert copy.device == ours and copy.unsafe_buffer_pointer() != values.ctypes.data
    np.testing.assert_array_equal(copy, values)
    if in_place:
        assert jnp.from_dlpack(values, copy=False).device == ours
    else:
        with pytest.raises(ValueError, match="is not aligned to 16 bytes"):
            jnp.from_dlpack(values, copy=False)


def test_torch_shares_memory(ours):
    torch = pytest.importorskip("torch")
    array = jax.block_until_ready(jnp.arange(1 << 16, dtype=jnp.float32, device=ours))
    tensor = torch.from_dlpack(array)
    assert tensor.data_ptr() == array.unsafe_buffer_pointer()
    back = jax.dlpack.from_dlpack(tensor + 1)
    assert back.device == ours
    np.testing.assert_array_equal(back, np.arange(1 << 16) + 1)


def test_live_arrays(ours):
    gc.collect()
    array = jnp.ones(3, device=ours)
    assert any(a is array for a in jax.live_arrays("isthmus"))
    array.delete()
    assert not any(a is array for a in jax.live_arrays("isthmus"))
