#!/usr/bin/env bash
# What platform cuda declares by hand against NVIDIA's headers: ./dev test --set cuda-headers. The headers are taken out of
# PyPI's packages, of which 2 GB are downloaded once.
source "$(dirname "$0")/lib.sh"

PYTHON="$VENV/bin/python"
[[ -x "$PYTHON" ]] || die "no $PYTHON: ./dev setup makes it"

# The headers of the packages of requirement file $1, in folder $2/include.
fetch_headers() {
  local requirements="$1" folder="$2" wanted package wheels
  wanted="$(sha256sum < "$requirements")"
  [[ -f "$folder/stamp" && "$(cat "$folder/stamp")" == "$wanted" ]] && return 0
  say "fetching headers of $requirements (once)"
  rm -rf "$folder"
  mkdir -p "$folder/include"
  wheels="$folder/wheels"
  grep -v '^#' "$requirements" | while read -r package; do
    # One at a time: they are large.
    "$PYTHON" -m pip download --quiet --disable-pip-version-check --no-cache-dir --no-deps --only-binary=:all: \
      --dest "$wheels" "$package" || die "pip could not download $package"
    "$PYTHON" - "$folder/include" "$wheels"/*.whl << 'EOF'
import pathlib, sys, zipfile
target, (wheel,) = pathlib.Path(sys.argv[1]), sys.argv[2:]
with zipfile.ZipFile(wheel) as archive:
    for name in archive.namelist():
        _, found, inner = name.partition("/include/")
        if found and inner and not name.endswith("/"):
            file = target / inner
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(archive.read(name))
EOF
    rm -rf "$wheels"
  done
  echo "$wanted" > "$folder/stamp"
}

mkdir -p "$OUT/results"
failed=0
# The first CUDA 12 has the driver's interface alone, which is what a driver must have at least.
for version in 12.0 12 13; do
  folder="$CACHE/cuda-headers/$version"
  fetch_headers "dev.d/requirements/cuda-headers-$version.txt" "$folder"
  headers=(cuda.h)
  tests="cuda.h or wrong"
  if [[ "$version" != 12.0 ]]; then
    headers+=(cublasLt.h cudnn.h nccl.h)
    tests=""
  fi
  for header in "${headers[@]}"; do
    [[ -f "$folder/include/$header" ]] || die "the packages for CUDA $version have no $header"
  done
  say "CUDA $version"
  CUDA_HOME="$folder" "$PYTHON" -m pytest -q -rs --junitxml "$OUT/results/cuda-headers-$version.xml" \
    -k "$tests" test/cuda_headers_test.py "$@" || failed=1
done
exit "$failed"
