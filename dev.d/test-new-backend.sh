#!/usr/bin/env bash
# ./dev new-backend as a vendor uses it: ./dev test --set new-backend. A clone of the skeleton in this tree, for a minute: built,
# tested, judged by the kit's first grade, and asked for JAX's first product. Objects of this tree serve it; in a copy of the tree
# ccache would have none of them, since precompiled headers know their folder.
source "$(dirname "$0")/lib.sh"

name=acme_npu
folder="backends/$name"
library="build/release/pjrt/libisthmus_$name.so"
[[ ! -e "$folder" ]] || die "$folder is there; if a test that was killed left it, remove it"
trap 'rm -rf "$folder" "build/release/$folder" "$library"' EXIT
trap 'exit 130' INT TERM HUP

"$ROOT/dev" new-backend "$name"
"$ROOT/dev" new-backend "$name" 2> /dev/null && die "a second clone of the same name is not refused"

"$ROOT/dev" build "isthmus_${name}_plugin" "${name}_test" isthmus-conform
"build/release/$folder/${name}_test"
build/release/conformance/isthmus-conform "$library" --grade 1
product="$(PJRT_NAMES_AND_LIBRARY_PATHS="$name:$ROOT/$library" JAX_PLATFORMS="$name" \
  "$VENV/bin/python" -c 'import jax.numpy as jnp; print((jnp.ones((2, 3)) @ jnp.ones((3, 2))).tolist())')"
[[ "$product" == "[[3.0, 3.0], [3.0, 3.0]]" ]] || die "JAX's first product is $product"
