"""The manifest of JAX's tests that pass on its CPU client and fail here, which may only shrink.

known_failures.txt has a line for each test, NAME, two spaces, REASON, and lines `complete FILE...`
naming the test files whose failures are all there. `0.12:` before a name or a file says that it is of
JAX 0.12 only; the others are of every version. Nothing may be added for a file that was complete
before. The yardstick fails for failures that are not listed and for listed
tests that pass; this check needs no checkout of JAX, only the repository's history.
"""

import pathlib
import re
import subprocess

PATH = pathlib.Path(__file__).resolve().parent / "known_failures.txt"


class Manifest:
    """The parsed text: `reasons` by test as it is listed, and the `complete` files."""

    def __init__(self, text):
        self.reasons, self.complete = {}, set()
        for number, line in enumerate(text.splitlines(), 1):
            if not line or line.startswith("#"):
                continue
            if line.startswith("complete "):
                self.complete |= set(line.split()[1:])
                continue
            name, separator, reason = line.partition("  ")
            if not separator or len(reason.split()) < 3 or bare(name).count(".") < 2:
                raise ValueError(f"line {number}: expected FILE.CLASS.TEST, two spaces and a reason")
            if name in self.reasons:
                raise ValueError(f"line {number}: {name} is there twice")
            self.reasons[name] = reason

    def listed(self, version):
        """The tests that may fail with JAX `version`, such as 0.12, without prefixes."""
        return [bare(name) for name in self.reasons if name == bare(name) or name.startswith(f"{version}:")]


def load():
    """The manifest beside this file."""
    return Manifest(PATH.read_text())


def bare(name):
    """The name without the version that it is listed for."""
    return re.sub(r"^\d+\.\d+:", "", name)


def file_of(name):
    """The test file of a test, as a line `complete` names it."""
    return name.removesuffix(bare(name)) + bare(name).split(".", 1)[0]


def grown(before, after):
    """What `after` has and may not have, given what was there `before`: a list of sentences."""
    added = sorted(set(after.reasons) - set(before.reasons))
    problems = [f"{name} is new, and {file_of(name)} was complete"
                for name in added if file_of(name) in before.complete]
    return problems + [f"{name} is no longer complete"
                       for name in sorted(before.complete - after.complete)]


def judge(lost, passed, manifest, version):
    """Compares a run with the manifest: (failures that are not listed, listed tests that pass)."""
    listed = manifest.listed(version)
    return [name for name in lost if name not in listed], [name for name in listed if name in passed]


def previous():
    """The manifest before its last change, or None where the history does not reach that far."""
    def git(*arguments):
        return subprocess.run(["git", *arguments], cwd=PATH.parent, capture_output=True, text=True)

    commits = git("log", "-2", "--format=%H", "--", PATH.name).stdout.split()
    changed = git("diff", "--quiet", "HEAD", "--", PATH.name).returncode != 0
    if len(commits) <= (0 if changed else 1):
        return None
    shown = git("show", f"{commits[0 if changed else 1]}:./{PATH.name}")
    return Manifest(shown.stdout) if shown.returncode == 0 else None
