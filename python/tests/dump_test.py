"""ISTHMUS_DUMP writes the program after each stage."""


def test_dump_has_every_stage(python, tmp_path):
    folder = tmp_path / "dump"
    python("""
        import jax, jax.numpy as jnp
        @jax.jit
        def poly(x):
            return jnp.tanh(x) * 3 + 1
        print(poly(jnp.arange(8.0)))
    """, JAX_PLATFORMS="isthmus", ISTHMUS_DUMP=folder)
    files = [path for path in folder.rglob("*") if path.is_file()]
    assert files, "nothing was written"
    ours = [path for path in files if "poly" in str(path.relative_to(folder))]
    assert ours, f"no file is named for the program: {sorted(map(str, files))[:10]}"
    text = "\n".join(path.read_text(errors="replace") for path in ours)
    assert "stablehlo.tanh" in text, "no stage shows StableHLO"
    assert "define " in text, "no stage shows LLVM IR"


def test_no_dump_without_asking(python, tmp_path):
    python("import jax; print(jax.numpy.arange(3))", JAX_PLATFORMS="isthmus")
    assert not [path for path in tmp_path.rglob("*.mlir")]


def test_log_has_a_line_for_each_kernel(python):
    done = python("""
        import jax, jax.numpy as jnp
        @jax.jit
        def two(x):
            s = jnp.sum(x, axis=0)  # columns and rows need a kernel each
            return s, jnp.sum(x, axis=1)
        print(two(jnp.ones((64, 64)))[0][0])
    """, JAX_PLATFORMS="isthmus", ISTHMUS_LOG="compile")
    lines = [line for line in done.stderr.splitlines() if line.startswith("isthmus compile: kernel")]
    sums = [line for line in lines if "tensor<64x64xf32>" in line and "reduce" in line]
    assert len(sums) == 2, done.stderr
    assert all("loop results=0 dims=" in line for line in sums), sums


def test_a_program_that_is_refused_leaves_a_reproducer(python, tmp_path):
    done = python("""
        import isthmus
        try:
            isthmus.compile('''
                func.func @main(%x: tensor<2xf32>) -> tensor<2xf32> {
                  %y = stablehlo.custom_call @nobody(%x) : (tensor<2xf32>) -> tensor<2xf32> loc("model.py":7:1)
                  func.return %y : tensor<2xf32>
                }''')
        except isthmus.Error as error:
            print(error)
    """, ISTHMUS_DUMP=tmp_path)
    assert "no handler is registered for @nobody" in done.stdout, done.stdout
    reproducer, = tmp_path.rglob("reproducer.mlir")
    text = reproducer.read_text()
    assert "model.py:7" in text, "no locations"
    comments = [line for line in text.splitlines() if line.startswith("// ")]
    assert any("CompileOptionsProto" in line for line in comments)
    # The file itself is a program that is refused in the same way.
    again = python(f"""
        import isthmus
        try:
            isthmus.compile(open({str(reproducer)!r}).read())
        except isthmus.Error as error:
            print(error)
    """)
    assert again.stdout == done.stdout
