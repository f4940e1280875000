"""Runs the .mlir files that have RUN lines, in whatever folder of the tree they sit."""

import os

import lit.TestingConfig
import lit.formats


class MlirTest(lit.formats.ShTest):
    """A shell test; .mlir files without a RUN line are data of other tests."""

    def getTestsInDirectory(self, suite, path, config, local):
        for test in super().getTestsInDirectory(suite, path, config, local):
            with open(test.getSourcePath(), encoding="utf-8") as source:
                if "RUN:" in source.read():
                    yield test


# lit hands tests to worker processes, which look this class up where lit reads this file.
lit.TestingConfig.MlirTest = MlirTest

build = os.environ.get("ISTHMUS_BUILD", os.path.join(os.path.dirname(__file__), "build", "release"))

config.name = "isthmus"
config.test_format = MlirTest(execute_external=False)
config.suffixes = [".mlir"]
config.excludes = ["build", "out", "dist", ".venv", ".venv-second", ".cache", ".git"]
config.test_source_root = os.path.dirname(__file__)
config.test_exec_root = os.path.join(build, "lit")
config.environment["PATH"] = os.pathsep.join(
    [os.path.join(build, "tools"), "/usr/lib/llvm-22/bin", os.environ.get("PATH", "")])
