"""Runs items in worker processes that may crash or hang without taking the run with them.

A worker is a command that reads one JSON object a line and answers each with one JSON object a
line, in order. An item whose worker dies gets the status "crash", one that takes too long "timeout";
the worker is then replaced.
"""

import collections
import json
import os
import selectors
import subprocess
import threading
import time


class Worker:
    """One process. Used by one thread."""

    def __init__(self, command, environment):
        self._command = command
        self._environment = {**os.environ, **environment}
        self._process = None

    def _start(self):
        self._errors = collections.deque(maxlen=40)
        self._process = subprocess.Popen(
            self._command, env=self._environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True, bufsize=1)
        threading.Thread(
            target=lambda stream, lines: lines.extend(stream),
            args=(self._process.stderr, self._errors), daemon=True).start()

    def run(self, item, seconds):
        """Returns the worker's answer to `item`, or one that says how it failed."""
        if self._process is None:
            self._start()
        begin = time.monotonic()
        try:
            self._process.stdin.write(json.dumps(item) + "\n")
            self._process.stdin.flush()
            line = self._read_line(begin + seconds)
        except BrokenPipeError:
            line = ""
        if line:
            return json.loads(line)
        hung = self._process.poll() is None and time.monotonic() - begin >= seconds
        code = self.stop()
        if hung:
            return {"status": "timeout", "message": f"no answer in {seconds} s"}
        tail = "".join(list(self._errors)[-12:])
        return {"status": "crash", "message": f"the process ended with code {code}: {tail}"}

    def _read_line(self, deadline):
        with selectors.DefaultSelector() as selector:
            selector.register(self._process.stdout, selectors.EVENT_READ)
            while (left := deadline - time.monotonic()) > 0:
                if selector.select(left):
                    # Libraries may print; answers are the lines that are objects.
                    line = self._process.stdout.readline()
                    if not line or line.startswith("{"):
                        return line
        return ""

    def stop(self):
        """Ends the process and returns its exit code."""
        if self._process is None:
            return None
        if self._process.poll() is None:
            self._process.kill()
        code = self._process.wait()
        self._process = None
        return code


def run_all(items, command, environment, results_path, jobs, seconds):
    """Runs each item (a dict with a unique "name"), appending answers to `results_path`.

    Names that the file already has are left out, so a stopped run goes on where it was. Returns all
    results by name.
    """
    results = {}
    if results_path.exists():
        for line in results_path.read_text().splitlines():
            result = json.loads(line)
            results[result["name"]] = result
    names = {item["name"] for item in items}
    todo = collections.deque(item for item in items if item["name"] not in results)
    total, lock = len(todo), threading.Lock()
    results_path.parent.mkdir(parents=True, exist_ok=True)
    with open(results_path, "a", encoding="utf-8") as file:
        def work():
            worker = Worker(command, environment)
            while True:
                with lock:
                    if not todo:
                        break
                    item = todo.popleft()
                begin = time.monotonic()
                result = worker.run(item, seconds)
                result |= {"name": item["name"], "seconds": round(time.monotonic() - begin, 3)}
                with lock:
                    results[item["name"]] = result
                    file.write(json.dumps(result) + "\n")
                    file.flush()
                    done = total - len(todo)
                    if done % 100 == 0 or done == total:
                        print(f"{done}/{total}", flush=True)
            worker.stop()

        threads = [threading.Thread(target=work) for _ in range(jobs)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    return {name: result for name, result in results.items() if name in names}
