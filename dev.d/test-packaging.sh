#!/usr/bin/env bash
# The wheels as users install them: ./dev test --set packaging. Builds all three, installs isthmus[xpu,cuda] into a new environment,
# and computes there with nothing of this tree: 1 + 1 on xpu by Intel's driver; without a GPU, platform cuda has to say so.
source "$(dirname "$0")/lib.sh"

most_bytes=$((60 * 1000 * 1000))
wheels="$OUT/packaging/wheels"
venv="$OUT/packaging/venv"
rm -rf "$OUT/packaging"
mkdir -p "$wheels"
"$ROOT/dev.d/wheel" > /dev/null
"$ROOT/dev.d/wheel" --of xpu > /dev/null
"$ROOT/dev.d/wheel" --of cuda > /dev/null
cp dist/isthmus-*.whl dist/isthmus_xpu-*.whl dist/isthmus_cuda-*.whl "$wheels"

# What an extra adds; a wheel may be smaller than what it becomes.
for wheel in "$wheels"/isthmus_*.whl; do
  "$VENV/bin/python" - "$wheel" "$most_bytes" <<'PYTHON' || die "a wheel is too large"
import os, sys, zipfile
wheel, most = sys.argv[1], int(sys.argv[2])
packed, unpacked = os.path.getsize(wheel), sum(entry.file_size for entry in zipfile.ZipFile(wheel).infolist())
print(f"{os.path.basename(wheel)}: {packed / 1e6:.1f} MB, installed {unpacked / 1e6:.1f} MB")
sys.exit(max(packed, unpacked) >= most)
PYTHON
done

# The JAX of the tests; ours by the names of the extras.
mapfile -t jax < <("$VENV/bin/python" -m pip freeze --disable-pip-version-check | grep -E '^(jax|jaxlib|numpy)==')
"$VENV/bin/python" -m venv "$venv"
"$venv/bin/python" -m pip install --quiet --disable-pip-version-check --find-links "$wheels" "isthmus[xpu,cuda]" "${jax[@]}"
install_extra "$venv" dev.d/requirements/xpu.txt

# No variable of this shell, and no folder of this tree, may help.
in_venv() { (cd / && env -i HOME="$OUT/packaging" PATH=/usr/bin:/bin "$@"); }
sum='import jax, jax.numpy as jnp
one = jnp.ones(())
assert float(one + 1) == 2.0 and float(jax.jit(lambda x: x + 1)(one)) == 2.0
print("1 + 1 = 2 on", one.device.platform, one.device)'
for platform in isthmus xpu; do
  in_venv JAX_PLATFORMS="$platform" "$venv/bin/python" -c "$sum" || die "platform $platform does not compute 1 + 1 as installed"
done
in_venv "$venv/bin/isthmus-info" > "$OUT/packaging/info.txt"
for platform in isthmus xpu cuda; do
  grep -q "$platform" "$OUT/packaging/info.txt" || die "isthmus-info says nothing of $platform: $OUT/packaging/info.txt"
done
if ! in_venv JAX_PLATFORMS=cuda "$venv/bin/python" -c "$sum" > "$OUT/packaging/cuda.txt" 2>&1; then
  grep -q "libcuda.so.1" "$OUT/packaging/cuda.txt" || die "platform cuda fails without naming the driver: $OUT/packaging/cuda.txt"
  say "no NVIDIA driver here: platform cuda says so"
fi
say "the wheels are right"
