# Kernels of platform cuda over a driver that interprets their PTX, all of them, side by side: ./dev test --set cuda [pytest's options].
source "$(dirname "$0")/lib.sh"

"$ROOT/dev.d/build" isthmus_cuda_plugin isthmus_fake_cuda isthmus-conform
"$ROOT/dev.d/wheel" --install
mkdir -p "$OUT/results"
export ISTHMUS_REQUIRE_PLUGIN=1 ISTHMUS_TEST_CUDA=all
exec "$VENV/bin/python" -m pytest -q -n "$JOBS" --durations 12 \
  --junitxml "$OUT/results/cuda.xml" python/tests/cuda_kernels_test.py "$@"
