"""Random programs: reference evaluator, a platform at every level and JAX's CPU client agree.

    ./dev fuzz [--platform NAME] [--seconds N] [--seed N] [--first N] [--count N]

A program on which they do not is written, made smaller, to out/fuzz/. Exit status 1 if one was found
where the platform and the evaluator differ.
"""

import argparse
import concurrent.futures
import pathlib
import re
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

import generator  # noqa: E402
import minimizer  # noqa: E402
import runners  # noqa: E402
import verdict  # noqa: E402

ROOT = HERE.parent.parent
THEIRS = "JAX's CPU client"


class Fuzzer:
    def __init__(self, options):
        self.options = options
        self.platforms = [["cpu", None], *([options.platform, level] for level in runners.LEVELS)]
        # Arguments are copied to where reaching past them faults.
        self.clients = runners.Clients({
            "JAX_PLATFORMS": f"{options.platform},cpu",
            "ISTHMUS_GUARD_MEMORY": "1", "ISTHMUS_ZERO_COPY": "0",
        })
        self.rejected = 0

    def failure(self, program):
        """What is wrong with how the program is run: (kind, text), or None."""
        with concurrent.futures.ThreadPoolExecutor(1) as side:
            evaluated = side.submit(runners.run_reference, program, self.options.tool)
            theirs, *ours = self.clients.run(program, self.platforms)
            reference = evaluated.result()
        if isinstance(theirs, str):
            self.rejected += 1
            theirs = None
        if isinstance(reference, str):
            if all(isinstance(o, str) for o in ours) and theirs is None:
                return None if "died" not in reference else ("reference error", reference)
            return "reference error", reference
        for level, results in zip(runners.LEVELS, ours):
            if isinstance(results, str):
                return f"level {level} error", results
            for i, value in enumerate(program.results):
                text = verdict.difference(results[i], reference[i], value,
                                          theirs[i] if theirs else None)
                if text:
                    return f"level {level}", f"result {i}: {text}"
        if theirs:
            for i, value in enumerate(program.results):
                text = verdict.difference(theirs[i], reference[i], value)
                # An ill-conditioned program is nobody's fault.
                if text and value.exact:
                    return THEIRS, f"result {i}: {text}"
        return None

    def minimized(self, program, kind):
        def fails(candidate):
            found = self.failure(candidate)
            return found is not None and found[0].startswith(kind[:5])

        def values_of(candidate, values):
            asked = minimizer.Program()
            asked.inputs, asked.constants, asked.ops = (
                candidate.inputs, candidate.constants, candidate.ops)
            asked.results = values
            found = runners.run_reference(asked.pruned(), self.options.tool)
            return None if isinstance(found, str) else found

        return minimizer.minimize(program, fails, values_of)

    def report(self, number, program, kind, text):
        small = self.minimized(program, kind)
        kind, text = self.failure(small) or (kind, text + " (not seen again)")
        path = self.options.out / f"{self.options.seed}-{number}.mlir"
        path.parent.mkdir(parents=True, exist_ok=True)
        notes = [f"// program {number} of seed {self.options.seed}: {kind}", f"// {text[:1500]}"]
        notes = "\n".join(notes).replace("\n", "\n// ").replace("// //", "//")
        # isthmus-run takes it as it is, and makes the inputs arguments of what it compiles.
        path.write_text(f"{notes}\n{small.text(hold_inputs=True)}")
        names = " ".join(re.sub(r"\w+\.", "", op.name) for op in small.ops)
        print(f"{path.name}: {kind}: {names}: {text[:300]}", flush=True)

    def run(self):
        options = self.options
        end = time.monotonic() + options.seconds
        number, failures, notes = options.first, 0, 0
        while time.monotonic() < end and (not options.count or
                                          number < options.first + options.count):
            program = generator.program_of(options.seed, number)
            found = self.failure(program)
            if found:
                # XLA has errors of its own; the evaluator and we agree on these.
                failures += found[0] != THEIRS
                notes += found[0] == THEIRS
                self.report(number, program, *found)
            number += 1
        print(f"{number - options.first} programs of seed {options.seed}, {failures} failures; JAX's "
              f"CPU client took all but {self.rejected} and differs on {notes} others")
        self.clients.stop()
        return 1 if failures else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--platform", default="isthmus", help="or xpu, or any other plugin's")
    parser.add_argument("--seconds", type=float, default=60, help="how long")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--first", type=int, default=0, help="the first program")
    parser.add_argument("--count", type=int, default=0, help="how many programs; 0: until the time is up")
    parser.add_argument("--out", type=pathlib.Path, default=ROOT / "out/fuzz")
    parser.add_argument("--tool", default=str(ROOT / "build/release/tools/isthmus-run"))
    return Fuzzer(parser.parse_args()).run()


if __name__ == "__main__":
    sys.exit(main())
