"""What the documents claim about the tree, compared with the tree."""

import os
import pathlib
import re
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parent.parent


def test_readme_lists_the_environment_variables():
    table = set(re.findall(r'^    \{"(ISTHMUS_\w+)"', (ROOT / "base/flags.cc").read_text(), re.M))
    documented = set(re.findall(r"^\| `(ISTHMUS_\w+)`", (ROOT / "README.md").read_text(), re.M))
    # Read by the Python half, not by the library.
    assert documented == table | {"ISTHMUS_LIBRARY_PATH", "ISTHMUS_XPU_LIBRARY_PATH", "ISTHMUS_CUDA_PLUGIN_PATH"}


def test_getenv_is_in_one_place():
    allowed = {"base/flags.cc"}
    folders = ["include", "ops", "compiler", "runtime", "backends", "pjrt"]
    found = {str(path.relative_to(ROOT)) for folder in folders for path in (ROOT / folder).rglob("*.cc")
             if re.search(r"\bgetenv\b", path.read_text()) and not path.name.endswith("_test.cc")
             # Fakes are libraries of their own, and know nothing of ours.
             and "testing" not in path.parts}
    assert found <= allowed


def test_architecture_shows_the_stages_in_their_order():
    tool = ROOT / "build/release/tools/isthmus-opt"
    if not tool.is_file():
        (pytest.fail if os.environ.get("ISTHMUS_REQUIRE_PLUGIN") else pytest.skip)("not built: ./dev build isthmus-opt")
    table = subprocess.run([tool, "--list-stages"], capture_output=True, text=True, check=True).stdout
    stages = [line.split()[0] for line in table.splitlines() if re.match(r"[a-z]", line)]
    (line,) = re.findall(r"^bytes ─▶ .*$", (ROOT / "ARCHITECTURE.md").read_text(), re.M)
    assert line.split(" ─▶ ") == ["bytes", *stages, "run"]


def test_architecture_names_the_public_headers():
    text = (ROOT / "ARCHITECTURE.md").read_text()
    missing = [file.name for file in (ROOT / "include/isthmus").iterdir() if file.is_file() and f"`{file.name}`" not in text]
    assert not missing


def test_architecture_names_functions_where_they_are():
    text = (ROOT / "ARCHITECTURE.md").read_text().split("## Where it happens")[1].split("\n## ")[0]
    rows = re.findall(r"^\|[^|]+\| (`[^|]+) \| ([^|]+) \|$", text, re.M)
    assert rows
    for functions, files in rows:
        contents = [(ROOT / file).read_text() for file in re.findall(r"`([^`]+)`", files)]
        for function in re.findall(r"`([^`]+)`", functions):
            assert any(re.search(rf"\b{function}\b", content) for content in contents), f"no {function} in {files}"


def test_every_pass_has_an_entry_a_file_and_a_test_of_its_name():
    compiler = ROOT / "compiler"
    by_hand = [str(file.relative_to(ROOT)) for file in compiler.rglob("*.cc")
               if re.search(r"getArgument\(\) const|PassRegistration<", file.read_text())]
    assert not by_hand, f"passes that no passes.td lists: {by_hand}"
    lists = sorted(compiler.rglob("passes.td"))
    defined = sorted(re.search(r"GEN_PASS_DEF_(\w+)", file.read_text())[1]
                     for file in compiler.rglob("*.cc") if "GEN_PASS_DEF_" in file.read_text())
    entries = {}
    for passes in lists:
        for name, argument in re.findall(r'^def (\w+) : Pass<"([\w-]+)"', passes.read_text(), re.M):
            entries[name.upper()] = argument
            stem = argument.replace("-", "_")
            assert name == "".join(part.title() for part in stem.split("_")) + "Pass"
            files = [file for end in (".cc", "_pass.cc") for file in passes.parent.rglob(stem + end)]
            assert any(f"GEN_PASS_DEF_{name.upper()}\n" in file.read_text() for file in files), f"no file of {argument}"
            test = passes.parent / f"test/{stem}.mlir"
            assert re.search(rf"--?{argument}\b|--to fuse", test.read_text()), f"no test of {argument}"
    assert len(lists) == 2 and sorted(entries) == defined


def test_links_lead_somewhere():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for target in re.findall(r"\]\(([^)#:]+)\)", document.read_text()):
            assert (document.parent / target).exists(), f"{document.name} links to {target}"


def test_commands_in_documents_exist():
    for document in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]:
        for name in re.findall(r"\./dev ([a-z-]+)", document.read_text()):
            assert (ROOT / "dev.d" / name).exists(), f"{document.name} names ./dev {name}"


def test_decisions_are_numbered_without_holes():
    numbers = [int(path.name[:4]) for path in sorted((ROOT / "docs/adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))
    for path in (ROOT / "docs/adr").glob("*.md"):
        for section in ("**Context.**", "**Choice.**", "**Rejected.**", "**What would change it.**"):
            assert section in path.read_text(), f"{path.name} lacks {section}"


def test_what_other_drivers_would_replace_is_said_of_each_file():
    (decision,) = (ROOT / "docs/adr").glob("*-what-level-zero-or-sycl-would-replace.md")
    rows = re.findall(r"^\| `([\w/.]+)` \| [^|]+ \| [^|]+ \|$", decision.read_text(), re.M)
    folder = ROOT / "backends/opencl"
    files = {str(path.relative_to(folder)) for path in folder.rglob("*") if path.suffix in (".h", ".cc")}
    own = {file for file in files if not file.endswith("_test.cc") and not file.startswith("testing/")}
    assert sorted(rows) == sorted(own)


def tracked():
    listed = subprocess.run(["git", "ls-files"], cwd=ROOT, capture_output=True, text=True)
    if listed.returncode:
        pytest.skip("not a checkout")
    return listed.stdout.split()


def test_every_page_is_found_from_the_readme():
    found, next_ = set(), [ROOT / "README.md"]
    while next_:
        page = next_.pop()
        if page in found or page.suffix != ".md":
            continue
        found.add(page)
        next_ += [(page.parent / target).resolve() for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text())]
    pages = {path for path in (ROOT / "docs").rglob("*.md") if path.parent.name != "adr"}
    assert not pages - found


def test_files_named_in_documents_exist():
    """A file by its path, by the end of it, or by its name; capitals stand for any."""
    files = tracked()
    ends = {"/".join(parts[i:]) for parts in (file.split("/") for file in files) for i in range(len(parts))}
    generated = {"out/bench.json", "isthmus/pjrt_c.h", "libdevice.10.bc"}
    for document in (file for file in files if file.endswith(".md")):
        for name in re.findall(r"`([\w./-]+\.(?:cc|h|py|td|md|mlir|txt|cmake|json|hpp|c|sh|svg))`",
                               (ROOT / document).read_text()):
            placeholder = re.search(r"\b[A-Z]{4}|VERB|FAMILY|verb-noun", name)
            if placeholder or name in generated or name.startswith("xla/"):
                continue
            assert name.removeprefix("../") in ends, f"{document} names {name}"


def test_glossary_has_words_that_are_used():
    code = "\n".join((ROOT / file).read_text() for file in tracked()
                     if file.endswith((".cc", ".h", ".td", ".py")) and file != "test/docs_test.py").lower()
    for line in (ROOT / "docs/glossary.md").read_text().splitlines()[6:]:
        for word in re.sub(r" \([^)]*\)", "", line.split("|")[1]).strip().lower().split(", "):
            stem = re.sub(r"(e|ing)$", "", word)
            assert re.search(re.sub(r"[ -]", r"[\\s_/-]*", stem), code), f"nothing is called {word}"


# Names that were given up, each for the one that the field or the glossary has.
GIVEN_UP = {
    r"\bwalled\b": "guarded: a guard against exceptions",
    r"\bhasExchange\b|\bisthmus_exchange\b|\bkExchange\w+": "sub-group shuffle",
    r"\bexchangePlaces\w*": "swapAddresses",
    r"\bMeetings?\b": "rendezvous, participant or synchronization",
    r"\bKeptBlocks\b|\bPlanMemo\b": "block cache, plan cache",
    r"[kK]ernelsOfSteps|\bjoinedNs\b": "step fusion",
    r"\b(lhs|rhs|along)Sums\b": "contracting dimension",
    r"\bsummandOf\b|\blikelySummands\b": "partial sum",
}


def code():
    return (file for file in tracked() if file.endswith((".cc", ".h", ".td")))


def test_names_that_were_given_up_stay_away():
    for file in code():
        text = (ROOT / file).read_text()
        for name, better in GIVEN_UP.items():
            found = re.search(name, text)
            assert not found, f"{file} has {found[0]}, which is called {better}"


# What more than one file needed, and each had for itself.
DEFINED_ONCE = {
    r"int64_t (ceilDiv|roundUp|floorDiv)\(int64_t": "base/integer_math.h",
    r"const FloatFormat\* \w+\(ElementType": "base/types/float_format.h",
}


def test_what_has_one_place_is_defined_there():
    for file in code():
        for definition, place in DEFINED_ONCE.items():
            found = re.search(definition, (ROOT / file).read_text())
            assert not found or file.startswith(place.removesuffix(".h")), f"{file} has its own {found[0]}…, see {place}"
