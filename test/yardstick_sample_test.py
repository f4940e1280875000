"""The sample of tests that ./dev yardstick jax --sample runs."""

import pathlib
import sys

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent / "yardstick"))

import pytest_options  # noqa: E402

NAMES = [f"a_test.py::T::test{i}" for i in range(100)]


def test_is_a_share_rounded_up():
    assert len(pytest_options.sample(NAMES, 20)) == 5
    assert len(pytest_options.sample(NAMES[:21], 20)) == 2
    assert pytest_options.sample(NAMES[:1], 20) == set(NAMES[:1])
    assert pytest_options.sample([], 20) == set()
    assert pytest_options.sample(NAMES, 1) == set(NAMES)


def test_depends_on_names_alone():
    assert pytest_options.sample(NAMES, 20) == pytest_options.sample(NAMES[::-1], 20)
    # What is collected on one platform only changes little.
    more = pytest_options.sample([*NAMES, "a_test.py::T::other"], 20)
    assert len(more & pytest_options.sample(NAMES, 20)) >= 4


def test_every_seed_has_a_sample_of_its_own():
    samples = [frozenset(pytest_options.sample(NAMES, 20, seed)) for seed in range(4)]
    assert samples[0] == pytest_options.sample(NAMES, 20)
    assert len(set(samples)) == 4 and all(len(one) == 5 for one in samples)
