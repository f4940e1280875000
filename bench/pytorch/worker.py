"""A process of one side: worker.py jax|eager|compiled, then a JSON line for each command.

{"prepare": [name, type], "results": path} runs twice, writes what the second run returned, and answers with
the seconds that the first one took; {"time": n} answers with the seconds of each of n runs.
"""

import json
import os
import sys
import time

import numpy as np


def main():
    side, threads = sys.argv[1], int(sys.argv[2])
    if side == "jax":
        os.environ["ISTHMUS_NUM_THREADS"] = str(threads)
        import jax_side as module
        prepare = module.prepare
    else:
        import torch
        import torch_side as module
        torch.set_num_threads(threads)

        def prepare(name, type_):
            torch.compiler.reset()
            return module.prepare(name, type_, side == "compiled")

    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # what libraries print is no answer
    for line in sys.stdin:
        command = json.loads(line)
        if "prepare" in command:
            run = None  # frees what it holds
            begin = time.perf_counter()
            run = prepare(*command["prepare"])
            run()
            answer = time.perf_counter() - begin
            np.savez(command["results"], *module.leaves(run()))
        else:
            answer = []
            for _ in range(command["time"]):
                begin = time.perf_counter()
                run()
                answer.append(time.perf_counter() - begin)
        print(json.dumps(answer), file=answers, flush=True)


if __name__ == "__main__":
    main()
