# All tests from the user's side, and the kit, on simulated devices: ./dev test --set simulated [pytest's options].
source "$(dirname "$0")/lib.sh"

"$ROOT/dev.d/build" isthmus_simulated_plugin isthmus_simulated_kernels_plugin isthmus-conform
"$ROOT/dev.d/wheel" --install
mkdir -p "$OUT/results"
export ISTHMUS_REQUIRE_PLUGIN=1 ISTHMUS_TEST_SIMULATED=all
"$VENV/bin/python" -m pytest -q --durations 12 \
  --junitxml "$OUT/results/simulated.xml" python/tests/simulated_test.py "$@"
for plugin in simulated simulated_kernels; do
  ISTHMUS_NUM_DEVICES=2 build/release/conformance/isthmus-conform "build/release/pjrt/libisthmus_$plugin.so" --quiet
done
