# The tests of programs once more under settings that change how everything is compiled or run: --brief,
# four of them and the programs alone, in seconds.
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
  ISTHMUS_GUARD_MEMORY=1
)
((brief)) && configurations=(ISTHMUS_OPTIMIZATION=0 ISTHMUS_NUM_THREADS=1 ISTHMUS_MAX_ISA=v3 ISTHMUS_GUARD_MEMORY=1)
failed=0 running=()

# Under one setting; what it prints comes when it has ended.
run_configuration() {
  local name="configuration-${1#ISTHMUS_}" verdict=0
  env "$1" "$VENV/bin/python" -m pytest -q --junitxml "$OUT/results/$name.xml" "${files[@]}" > "$OUT/$name.log" 2>&1 ||
    verdict=1
  say "$1"
  tail -40 "$OUT/$name.log"
  return "$verdict"
}

# As many at once as there are CPUs: most of the time one thread compiles.
for configuration in "${configurations[@]}"; do
  if ((${#running[@]} == JOBS)); then
    wait "${running[0]}" || failed=1
    running=("${running[@]:1}")
  fi
  run_configuration "$configuration" &
  running+=($!)
done
for job in "${running[@]}"; do
  wait "$job" || failed=1
done
exit "$failed"
