#!/usr/bin/env bash
# Tests of a framework in a virtual environment of its own: ./dev test --set torch|tensorflow|ecosystem, the first two with
# --platform xpu|cuda|NAME (of ./dev new-backend) too.
source "$(dirname "$0")/lib.sh"

framework="$1"
shift
case "$framework" in
  torch) tests=test/pytorch ;;
  tensorflow) tests=test/keras ;;
  ecosystem) tests=test/ecosystem ;;
  *) die "no set of tests for $framework; there are torch, tensorflow and ecosystem" ;;
esac
platform=""
if [[ "${1:-}" == --platform ]]; then
  [[ "$framework" != ecosystem ]] || die "the ecosystem's tests choose their platform by JAX_PLATFORMS"
  platform="${2:?a platform: xpu, cuda, or that of ./dev new-backend}"
  shift 2
fi
venv="$ROOT/.venv-$framework"
make_framework_venv "$framework"
[[ "$framework" == ecosystem ]] || "$ROOT/dev.d/wheel" --tensorflow "$venv" $platform
mkdir -p "$OUT/results"
unset PYTHONPATH ISTHMUS_LIBRARY_PATH

# The wheel of a platform, from this tree; of xpu, the driver that PyPI has for CPUs.
install_platform() {
  "$ROOT/dev.d/wheel" --of "$1"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check --no-deps --force-reinstall \
    dist/isthmus_"$1"-*.whl
  [[ "$1" != xpu ]] || install_extra "$venv" dev.d/requirements/xpu.txt
}

mapfile -t files < <(git ls-files --cached --others --exclude-standard "$tests/*_test.py")
failed=0
if [[ -n "$platform" ]]; then
  install_platform "$platform"
  export PJRT_DEVICE="${platform^^}" ISTHMUS_TENSORFLOW_DEVICE="${platform^^}"
  [[ "$platform" != cuda ]] || PJRT_DEVICE=ISTHMUS_CUDA
  exec "$venv/bin/python" -m pytest -q --junitxml "$OUT/results/$framework-on-$platform.xml" "${files[@]}" "$@"
fi
"$venv/bin/python" -m pytest -q --junitxml "$OUT/results/$framework.xml" "${files[@]}" "$@" || failed=1
if [[ "$framework" == torch && $# -eq 0 ]]; then
  say "arrays of platform xpu by DLPack"
  install_platform xpu
  ISTHMUS_REQUIRE_PLUGIN=1 "$venv/bin/python" -m pytest -q --junitxml "$OUT/results/torch-xpu.xml" \
    python/tests/xpu_test.py -k torch || failed=1
  for device in ISTHMUS CPU; do
    say "PyTorch's database of operations on $device"
    PJRT_DEVICE="$device" "$venv/bin/python" test/pytorch/op_database.py \
      --output "$OUT/results/op-database-$device.json"
  done
  "$venv/bin/python" test/pytorch/op_database.py --compare \
    "$OUT/results/op-database-ISTHMUS.json" "$OUT/results/op-database-CPU.json"
fi
[[ -f "$tests/measure.py" ]] || exit "$failed"
"$venv/bin/python" "$tests/measure.py" --output "$OUT/results/$framework-speed.json" || failed=1
exit "$failed"
