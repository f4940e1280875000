# What the commands share: paths, messages and the choice of Python. Sourced, never run.
set -euo pipefail
: "${ROOT:=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)}"
cd "$ROOT"

CACHE="$ROOT/.cache"
OUT="$ROOT/out"
VENV="${ISTHMUS_VENV:-$ROOT/.venv}"
LLVM_BIN="/usr/lib/llvm-22/bin"
JOBS="${ISTHMUS_JOBS:-$(nproc)}"
mkdir -p "$CACHE" "$OUT"
# A tree that is made again in its folder has from ccache what it had, of code with precompiled headers too. Another folder has not:
# these headers know where they are.
export CCACHE_BASEDIR="${CCACHE_BASEDIR:-$ROOT}" CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros

# Runs pytest with one worker per CPU. A file's tests stay together, for they share what its fixtures make.
run_pytest() {
  local venv="$1"
  shift
  "$venv/bin/python" -m pytest -q -n "$JOBS" --dist loadfile "$@"
}

say() { printf '\033[1m==>\033[0m %s\n' "$*" >&2; }
die() {
  printf 'dev: %s\n' "$*" >&2
  exit 1
}

# The first Python on this machine that runs and is at least version $1 (such as 3.11). Shims of
# version managers exist for versions that do not run, hence the trial.
find_python() {
  local wanted="$1" candidate
  for candidate in "${ISTHMUS_PYTHON:-}" python3 python3.13 python3.12 python3.11 \
    "$HOME"/.pyenv/versions/3.1[1-9]*/bin/python; do
    [[ -n "$candidate" ]] || continue
    if "$candidate" -c "import sys; sys.exit(sys.version_info[:2] < (${wanted/./, }))" \
      2> /dev/null; then
      "$candidate" -c 'import sys; print(sys.executable)'
      return 0
    fi
  done
  return 1
}

# Makes or completes the virtual environment $1 from the requirement file $2 with Python $3. Does
# nothing if the last run did just that. One of another Python is made anew if it is ours, which its stamp says.
make_venv() {
  local venv="$1" requirements="$2" python="$3" stamp wanted
  stamp="$venv/.isthmus-stamp"
  wanted="$(cat "$requirements" | sha256sum | cut -d' ' -f1) $("$python" -V)"
  if [[ -f "$stamp" && "$(cat "$stamp")" == "$wanted" && -x "$venv/bin/python" ]]; then
    return 0
  fi
  say "installing Python packages into ${venv#"$ROOT"/} (once)"
  if [[ ! -x "$venv/bin/python" ]] ||
    [[ "$("$venv/bin/python" -V 2> /dev/null)" != "$("$python" -V)" ]]; then
    if [[ ! -f "$stamp" ]] && [[ -e "$venv" || -L "$venv" ]] && ! rmdir "$venv" 2> /dev/null; then
      die "$venv is no environment of $("$python" -V) and not made by ./dev: move it away, or remove it"
    fi
    rm -rf "$venv"
    mkdir -p "$venv"
    : > "$stamp" # ours from now on, though interrupted
    "$python" -m venv "$venv" || die "cannot make a virtual environment with $python"
  fi
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --requirement "$requirements" || die "pip could not install $requirements"
  echo "$wanted" > "$stamp"
}

# Makes .venv-FRAMEWORK and installs our wheel there.
make_framework_venv() {
  local venv="$ROOT/.venv-$1" python
  # The wheels of torch_xla and TensorFlow end with Python 3.13; 3.11 is what the numbers are made with.
  python="$(ISTHMUS_PYTHON="$(command -v python3.11 || true)" find_python 3.11)" || die "there is no Python 3.11"
  make_venv "$venv" "dev.d/requirements/$1.txt" "$python"
  "$ROOT/dev.d/wheel" --install "$venv"
}

# Adds the packages of requirement file $2 to the virtual environment $1, once; goes on without them
# where there are none for this machine, but not where their tests must run (CI).
install_extra() {
  local venv="$1" requirements="$2" stamp wanted
  stamp="$venv/.isthmus-stamp-$(basename "$requirements" .txt)"
  wanted="$(sha256sum < "$requirements")"
  [[ -f "$stamp" && "$(cat "$stamp")" == "$wanted" ]] && return 0
  say "installing $requirements into ${venv#"$ROOT"/} (once)"
  "$venv/bin/python" -m pip install --quiet --disable-pip-version-check \
    --requirement "$requirements" || {
    if [[ -n "${ISTHMUS_REQUIRE_PLUGIN:-}" ]]; then
      say "pip could not install $requirements, and its tests must run"
      return 1
    fi
    say "pip could not install $requirements: its tests will be skipped"
    return 0
  }
  echo "$wanted" > "$stamp"
}

# What `--platform NAME` among the arguments needs beside the wheel, which has the CPU backend only: a device's plugin is that of the
# build; it and its rival need packages of PyPI.
use_platform() {
  local platform="" i next
  for ((i = 1; i <= $#; ++i)); do
    case "${!i}" in
      --platform) next=$((i + 1)) && platform="${!next:-}" ;;
      --platform=*) platform="${!i#*=}" ;;
    esac
  done
  case "$platform" in
    xpu)
      [[ -n "${ISTHMUS_XPU_LIBRARY_PATH:-}" ]] || "$ROOT/dev.d/build" isthmus_xpu_plugin
      export ISTHMUS_XPU_LIBRARY_PATH="${ISTHMUS_XPU_LIBRARY_PATH:-$ROOT/build/release/pjrt/libisthmus_xpu.so}"
      install_extra "$VENV" dev.d/requirements/xpu.txt
      ;;
    cuda)
      [[ -n "${ISTHMUS_CUDA_PLUGIN_PATH:-}" ]] || "$ROOT/dev.d/build" isthmus_cuda_plugin
      export ISTHMUS_CUDA_PLUGIN_PATH="${ISTHMUS_CUDA_PLUGIN_PATH:-$ROOT/build/release/pjrt/libisthmus_cuda.so}"
      # JAX's own plugin is the rival of one on a GPU.
      [[ " $* " == *" --driver fake "* ]] && "$ROOT/dev.d/build" isthmus_fake_cuda && return 0
      install_extra "$VENV" dev.d/requirements/jax-cuda.txt
      ;;
    "" | isthmus | cpu) ;;
    *)
      "$ROOT/dev.d/build" "isthmus_${platform}_plugin"
      export PJRT_NAMES_AND_LIBRARY_PATHS="$platform:$ROOT/build/release/pjrt/libisthmus_$platform.so"
      ;;
  esac
}
