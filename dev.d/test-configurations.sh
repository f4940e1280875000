# The tests of programs once more under settings that change how everything is compiled or run: --brief,
# three of them and the programs alone, in about two minutes.
source "$(dirname "$0")/lib.sh"

"$ROOT/dev.d/wheel" --install
brief=0
[[ "${1:-}" == --brief ]] && brief=1 && shift
files=(python/tests/{programs,training,linear_algebra,fft,special_functions,random_bits,element_types,multi_device}_test.py)
((brief)) && files=(python/tests/programs_test.py)
(($#)) && files=("$@")
configurations=(
  ISTHMUS_OPTIMIZATION=0 ISTHMUS_OPTIMIZATION=1 ISTHMUS_FOLD_BYTES=0
  ISTHMUS_NUM_THREADS=1 ISTHMUS_NUM_THREADS=8
  ISTHMUS_MAX_ISA=v2 ISTHMUS_MAX_ISA=v3 ISTHMUS_MAX_ISA=v4
)
((brief)) && configurations=(ISTHMUS_OPTIMIZATION=0 ISTHMUS_NUM_THREADS=1 ISTHMUS_MAX_ISA=v3)
failed=0
for configuration in "${configurations[@]}"; do
  say "$configuration"
  env "$configuration" "$VENV/bin/python" -m pytest -q \
    --junitxml "$OUT/results/configuration-${configuration#ISTHMUS_}.xml" "${files[@]}" || failed=1
done
exit "$failed"
