#!/usr/bin/env bash
# ./dev new-backend as a vendor uses it: ./dev test --set new-backend. A clone in a copy of this tree, built, tested, and judged by the
# kit's first grade. What is not the clone's comes from ccache.
source "$(dirname "$0")/lib.sh"

name=acme_npu
copy="$OUT/new-backend"
rm -rf "$copy"
mkdir -p "$copy"
"$ROOT/dev.d/build" isthmus_skeleton_plugin skeleton_test isthmus-conform
git ls-files -z --cached --others --exclude-standard | tar --null --files-from=- -cf - | tar -C "$copy" -xf -
git -C "$copy" init -q && git -C "$copy" add -A
"$copy/dev" new-backend "$name"
"$copy/dev" new-backend "$name" 2> /dev/null && die "a second clone of the same name is not refused"

say "building the clone"
cmake -S "$copy" -B "$copy/build/release" --preset release -DISTHMUS_PYTHON="$VENV/bin/python" > "$OUT/new-backend.log"
CCACHE_BASEDIR="$copy" ninja -C "$copy/build/release" -j "$JOBS" "isthmus_${name}_plugin" "${name}_test" >> "$OUT/new-backend.log" ||
  die "the clone does not build: $OUT/new-backend.log"
"$copy/build/release/backends/$name/${name}_test"
build/release/conformance/isthmus-conform "$copy/build/release/pjrt/libisthmus_$name.so" --platform "$name" --grade 1 --quiet
