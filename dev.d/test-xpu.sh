# All tests of platform xpu, every case by every OpenCL driver in every form: ./dev test --set xpu [pytest's options].
source "$(dirname "$0")/lib.sh"

"$ROOT/dev.d/build" isthmus_xpu_plugin
"$ROOT/dev.d/wheel" --install
install_extra "$VENV" dev.d/requirements/xpu.txt
mkdir -p "$OUT/results"
export ISTHMUS_REQUIRE_PLUGIN=1 ISTHMUS_TEST_XPU=all
run_pytest "$VENV" --durations 12 --junitxml "$OUT/results/xpu.xml" \
  python/tests/{xpu,xpu_attention,xpu_conversions,xpu_kernels,xpu_products,device_programs}_test.py "$@"
