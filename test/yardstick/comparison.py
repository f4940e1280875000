"""Sums up results of a platform beside those of the reference, and groups the failures."""

import collections
import re

GOOD = ("pass",)


def shape_of(message):
    """An error message without what differs between cases of one cause."""
    line = message.strip().splitlines()[0] if message.strip() else ""
    line = re.sub(r"loc\([^)]*\)|\"[^\"]*\.(?:mlir|py)\"(?::\d+)*", "", line)
    line = re.sub(r"tensor<[^>]*(?:<[^>]*>)?>", "tensor", line)
    return re.sub(r"-?\d+(?:\.\d+)?(?:e[+-]?\d+)?", "N", line)[:160]


def summarize(results, reference, good=GOOD, examples=3):
    """Prints the counts and the groups; returns the names that pass on the reference but not here."""
    expected = [name for name, result in reference.items() if result["status"] in good]
    counts = collections.Counter(result["status"] for result in results.values())
    print("here:      " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    counts = collections.Counter(result["status"] for result in reference.values())
    print("reference: " + ", ".join(f"{n} {status}" for status, n in counts.most_common()))
    lost = [name for name in expected if name in results and results[name]["status"] not in good]
    have = [name for name in expected if name in results]
    if have:
        share = 100 * (len(have) - len(lost)) / len(have)
        print(f"of {len(have)} that pass on the reference, {len(have) - len(lost)} pass here: "
              f"{share:.2f} %")
    groups = collections.defaultdict(list)
    for name in lost:
        groups[results[name]["status"], shape_of(results[name]["message"])].append(name)
    for (status, message), names in sorted(groups.items(), key=lambda group: -len(group[1])):
        print(f"{len(names):5}  {status}: {message}")
        print(f"{'':7}{', '.join(names[:examples])}{', …' if len(names) > examples else ''}")
    return lost
