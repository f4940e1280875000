"""Adds up JUnit XML reports: a line for each, the failures by name, and the total as last line."""

import pathlib
import sys
import xml.etree.ElementTree as ElementTree


def count(path):
    """Returns (passed, names of the failed, skipped) of one report."""
    passed, failed, skipped = 0, [], 0
    for case in ElementTree.parse(path).getroot().iter("testcase"):
        name = f"{case.get('classname', '')}.{case.get('name', '')}"
        if case.find("failure") is not None or case.find("error") is not None:
            failed.append(name)
        elif case.find("skipped") is not None or case.get("status") == "notrun":
            skipped += 1
        else:
            passed += 1
    return passed, failed, skipped


def main(paths):
    total_passed = total_failed = total_skipped = 0
    # Steps that failed outside a test runner, such as a build, count as one each.
    if paths[:1] == ["--failed-steps"]:
        total_failed = int(paths[1])
        paths = paths[2:]
    for path in map(pathlib.Path, paths):
        if not path.exists():
            continue
        passed, failed, skipped = count(path)
        print(f"{path.stem:>12}: {passed} passed, {len(failed)} failed, {skipped} skipped")
        for name in failed:
            print(f"{'':>14}failed: {name}")
        total_passed += passed
        total_failed += len(failed)
        total_skipped += skipped
    print(f"{total_passed} passed, {total_failed} failed, {total_skipped} skipped")
    return 1 if total_failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
