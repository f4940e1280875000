"""The forms in which the CPU's functions multiply stand in the schedule: an edited dump has another one computed, with the
same numbers, or is told why that one cannot."""

import re
import textwrap

CONVOLUTION = """stablehlo.convolution(%a, %b) dim_numbers = {numbers}, window = {{}}
    {{batch_group_count = 1 : i64, feature_group_count = {groups} : i64}}"""
IMAGES = "[b, 0, 1, f]x[0, 1, i, o]->[b, 0, 1, f]"
DOT = "stablehlo.dot_general %a, %b, contracting_dims = [{}] x [{}]"

# Of each: the operation, the shapes of its operands and its result, what NumPy says, the form that is chosen (where it is the
# same on all machines), and those that can compute it on all machines.
CASES = {
    "matrices": (DOT.format(1, 0), (40, 50), (50, 32), (40, 32), "a @ b",
                 None, {"blocked", "direct", "direct:swapped", "row_by_row"}),
    "many_terms": (DOT.format(1, 0), (9, 500), (500, 24), (9, 24), "a @ b",
                   None, {"blocked", "direct", "direct:swapped"}),
    "row": (DOT.format(0, 0), (100,), (100, 300), (300,), "a @ b",
            "row_times_matrix", {"blocked", "direct", "row_times_matrix"}),
    "column": (DOT.format(1, 0), (300, 100), (100,), (300,), "a @ b", "dot_products:swapped",
               {"blocked", "direct", "direct:swapped", "dot_products:swapped", "few_columns"}),
    "terms_together": (DOT.format(1, 1), (3, 90), (70, 90), (3, 70), "a @ b.T",
                       "dot_products", {"blocked", "direct", "direct:swapped", "dot_products"}),
    "epilogue": (DOT.format(1, 0), (48, 32), (32, 40), (48, 40), "np.tanh(a @ b)",
                 None, {"blocked", "direct", "direct:swapped", "row_by_row"}),
    "integers": (DOT.format(1, 0), (8, 8), (8, 8), (8, 8), "a @ b", "blocked", {"blocked"}),
    "images": (CONVOLUTION.format(numbers=IMAGES, groups=1), (2, 9, 9, 4), (3, 3, 4, 16), (2, 7, 7, 16),
               "convolve(a, b)", "windows", {"windows", "product", "undecided"}),
    "small_images": (CONVOLUTION.format(numbers=IMAGES, groups=1), (3, 4, 4, 8), (2, 2, 8, 16), (3, 3, 3, 16),
                     "convolve(a, b)", "product", {"windows", "product", "undecided"}),
    "pixels": (CONVOLUTION.format(numbers=IMAGES, groups=1), (2, 5, 6, 8), (1, 1, 8, 16), (2, 5, 6, 16),
               "convolve(a, b)", None, {"blocked", "direct", "direct:swapped", "row_by_row"}),
    "few_groups": (CONVOLUTION.format(numbers=IMAGES, groups=3), (1, 8, 8, 3), (3, 3, 1, 3), (1, 6, 6, 3),
                   "np.concatenate([convolve(a[..., i:i + 1], b[..., i:i + 1]) for i in range(3)], -1)",
                   None, {"depthwise", "windows", "product", "undecided"}),
    "kernel_gradient": (CONVOLUTION.format(numbers="[f, 0, 1, b]x[i, 0, 1, o]->[0, 1, b, f]", groups=1),
                        (3, 6, 6, 4), (3, 4, 4, 16), (3, 3, 4, 16),
                        "np.einsum('nxychw,nhwo->xyco', windows(a, (4, 4), (1, 2)), b)",
                        None, {"position_sums", "product", "undecided"}),
}
FORMS = ("blocked", "row_times_matrix", "dot_products", "dot_products:swapped", "direct", "direct:swapped", "row_by_row",
         "few_columns", "depthwise", "transposed_sums", "position_sums", "windows", "product", "undecided", "folded")
# That can where the columns are few of the machine's vectors.
BY_MACHINE = {"matrices_few_columns", "many_terms_few_columns", "epilogue_few_columns", "row_direct:swapped",
              "pixels_few_columns", "pixels_dot_products:swapped"}
# Why not, of some.
WHY = {"integers_direct": "direct: not all of f32, or of f64", "images_depthwise": "depthwise: several features of a group",
       "many_terms_row_by_row": "row_by_row: many terms", "matrices_folded": "products have no form of the name folded",
       "matrices_windows": "products have no form of the name windows",
       "images_blocked": "convolutions have no form of the name blocked",
       "images_direct:swapped": "the operands of a convolution stay in their places"}


def tensor(case, shape):
    return f"tensor<{'x'.join(map(str, shape))}x{'i32' if case == 'integers' else 'f32'}>"


def module(case, name):
    operation, a, b, result, _, _, _ = CASES[case]
    a, b, result = tensor(case, a), tensor(case, b), tensor(case, result)
    last = "stablehlo.tanh %c" if case == "epilogue" else "stablehlo.optimization_barrier %c"
    return textwrap.dedent(f"""
        module @{name.replace(":", "_")} {{
          func.func @main(%a: {a}, %b: {b}) -> {result} {{
            %c = {operation} : ({a}, {b}) -> {result}
            %d = {last} : {result}
            return %d : {result}
          }}
        }}""")


PROGRAM = """
    import sys
    import numpy as np
    import isthmus
    windows = np.lib.stride_tricks.sliding_window_view
    def convolve(x, k):
        return np.einsum("nxychw,hwco->nxyo", windows(x, k.shape[:2], (1, 2)), k)
    for name, case, text, shapes, expected in PROGRAMS:
        random = np.random.default_rng(7)
        kind = np.int32 if case == "integers" else np.float32
        # Of numbers for which tanh is neither 1 nor what rounding leaves of large terms.
        scale = 8 if case == "integers" else 0.5
        a, b = (random.normal(size=shape, scale=scale).astype(kind) for shape in shapes)
        print("==", name, file=sys.stderr, flush=True)
        try:
            got = np.asarray(isthmus.compile(text)(a, b))
        except isthmus.Error as error:
            print("refused:", error, file=sys.stderr, flush=True)
            continue
        want = eval(expected).astype(kind)
        np.testing.assert_allclose(got, want, rtol=1e-5, atol=1e-5 * max(1, np.abs(want).max()))
"""


def said_of(python, names, **variables):
    """Of each name, what the log and the errors say of its compilation; all that was computed is right."""
    programs = [(name, case, module(case, name), CASES[case][1:3], CASES[case][4]) for name, case in names.items()]
    done = python(f"PROGRAMS = {programs!r}\n" + textwrap.dedent(PROGRAM), ISTHMUS_LOG="compile", **variables)
    return {part.split("\n")[0]: part for part in done.stderr.split("== ")[1:]}


def test_an_edited_form_is_computed_or_refused(python, tmp_path):
    said = said_of(python, {case: case for case in CASES}, ISTHMUS_DUMP=tmp_path / "dump")
    schedules = {path.parent.name.split("-", 1)[1]: path.read_text()
                 for path in (tmp_path / "dump").rglob("*schedule.mlir")}
    for case, (*_, form, possible) in CASES.items():
        chosen = re.search(r"function=(\S+)", schedules[case])[1]
        assert form in (None, chosen) and (chosen in possible or f"{case}_{chosen}" in BY_MACHINE), schedules[case]
        assert f"is computed in the form {chosen.split(':')[0]} for" in said[case], said[case]

    names = {}
    for case in CASES:
        for form in FORMS:
            name = f"{case}_{form}"
            names[name] = case
            folder = tmp_path / "override" / name.replace(":", "_")
            folder.mkdir(parents=True)
            (folder / "05-schedule.mlir").write_text(re.sub(r"function=\S+", f"function={form}", schedules[case]))
    said = said_of(python, names, ISTHMUS_OVERRIDE=tmp_path / "override")
    for name, case in names.items():
        form = name.removeprefix(case + "_")
        if form in CASES[case][-1] or (name in BY_MACHINE and "refused: " not in said[name]):
            assert f"is computed in the form {form.split(':')[0]} for" in said[name], said[name]
            assert (", swapped" in said[name]) == form.endswith(":swapped"), said[name]
        else:
            assert "refused: " in said[name] and ": the form of its schedule: " in said[name], said[name]
        assert WHY.get(name, "") in said[name], said[name]


def test_the_schedule_of_a_call_says_its_form_only(python, tmp_path):
    said_of(python, {"row": "row"}, ISTHMUS_DUMP=tmp_path / "dump")
    dumped = next((tmp_path / "dump").rglob("*schedule.mlir")).read_text()
    for text, problem in {"form=groups": "of a product that a function computes, only its form can be said",
                          "function=": "schedule field 'function=' is not understood",
                          "function=blocked:turned": "is not understood"}.items():
        folder = tmp_path / "override" / "row"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "05-schedule.mlir").write_text(re.sub(r"function=\S+", text, dumped))
        said = said_of(python, {"row": "row"}, ISTHMUS_OVERRIDE=tmp_path / "override")
        assert problem in said["row"], said["row"]
