#!/usr/bin/env bash
# Tests of a framework in a virtual environment of its own: ./dev test --set torch|tensorflow|ecosystem.
source "$(dirname "$0")/lib.sh"

framework="$1"
shift
case "$framework" in
  torch) tests=test/pytorch ;;
  tensorflow) tests=test/keras ;;
  ecosystem) tests=test/ecosystem ;;
  *) die "no set of tests for $framework; there are torch, tensorflow and ecosystem" ;;
esac
venv="$ROOT/.venv-$framework"
make_framework_venv "$framework"
[[ "$framework" == ecosystem ]] || "$ROOT/dev.d/wheel" --tensorflow "$venv"
mkdir -p "$OUT/results"
unset PYTHONPATH ISTHMUS_LIBRARY_PATH
mapfile -t files < <(git ls-files --cached --others --exclude-standard "$tests/*_test.py")
failed=0
"$venv/bin/python" -m pytest -q --junitxml "$OUT/results/$framework.xml" "${files[@]}" "$@" || failed=1
if [[ "$framework" == torch && $# -eq 0 ]]; then
  say "arrays of platform xpu by DLPack"
  "$ROOT/dev.d/build" isthmus_xpu_plugin
  install_extra "$venv" dev.d/requirements/xpu.txt
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
