"""TensorFlow's SavedModels with a program of StableHLO in them: the program, and the values of its variables.

jax2tf and torch_xla write such models: their signature is one XlaCallModule operation on arguments and
variables. TensorFlow is not needed to read them. Fields of messages are known by their numbers in
TensorFlow's protocol buffers.
"""

import pathlib
import struct

import numpy as np

from isthmus import checkpoint, protobuf

# Enough for signatures of TensorFlow, which call a function that calls a function. Only calls are nested here too.
_MAX_DEPTH, _MAX_CALLS = 64, 1000
# Operations whose results are their operands.
_IDENTITIES = {"Identity", "IdentityN", "PreventGradient", "StopGradient", "ReadVariableOp"}
_CALLS = {"PartitionedCall", "StatefulPartitionedCall"}


def read(path: pathlib.Path, signature: str | None):
    """Of a signature ("serving_default", or the only one): code, what each parameter is, the names of the
    arguments, and the numbers of the program's results that are the signature's (None: all, in order)."""
    try:
        return _Model(path).program(signature)
    except (IndexError, KeyError, OverflowError, struct.error, UnicodeDecodeError) as error:
        raise ValueError(f"{path}: saved_model.pb, or its variables, are damaged") from error


class NoProgram(ValueError):
    """The model is one of TensorFlow's own operations."""


class _Model:
    def __init__(self, path: pathlib.Path):
        self._path = path
        graph = next(protobuf.messages((path / "saved_model.pb").read_bytes(), 2), b"")
        self._functions = {}
        for function in protobuf.messages(graph, 2, 2, 1):
            self._functions[protobuf.text(function, 1, 1)] = function
        self._signatures = {protobuf.text(entry, 1): entry for entry in protobuf.messages(graph, 5)
                            if not protobuf.text(entry, 1).startswith("__")}
        objects = next(protobuf.messages(graph, 7), b"")
        self._objects = list(protobuf.messages(objects, 1))
        self._bound = {protobuf.text(entry, 1): protobuf.integers(protobuf.message(entry, 2), 2)
                       for entry in protobuf.messages(objects, 2)}
        self._checkpoint, self._calls = None, 0

    def program(self, signature):
        function, names = self._entry(signature)
        bound = self._bound.get(function, [])
        body = self._functions[function]
        count = sum(1 for _ in protobuf.messages(body, 1, 2)) - len(bound)
        if count < 0:
            raise self._error(f"{function} has fewer parameters than variables")
        calls = []  # of each program: code, operands, number of results
        results = self._results(
            function, [*range(count), *(("variable", number) for number in bound)], calls, 0)
        if not calls:
            raise NoProgram(f"{self._path}: {function} has no program of StableHLO")
        if len(calls) != 1:
            raise self._error(f"{function} has {len(calls)} programs of StableHLO, expected one")
        code, operands, num_results = calls[0]
        chosen = []
        for result in results:
            if not isinstance(result, tuple) or result[0] != "result":
                raise NoProgram(f"{self._path}: a result of {function} is none of its program's")
            chosen.append(result[1])
        return code, [self._value(operand) for operand in operands], names[:count], (
            None if chosen == list(range(num_results)) else chosen)

    def _error(self, what: str) -> ValueError:
        return ValueError(f"{self._path}: {what}")

    def _entry(self, signature):
        """The function of a signature, and the names of its arguments."""
        children = self._children(0) if self._objects else {}
        signatures = self._children(children["signatures"]) if "signatures" in children else {}
        names = [name for name in signatures if name in self._signatures]
        if signature is None:
            signature = "serving_default" if "serving_default" in names or len(names) != 1 else names[0]
        if signature not in names:
            raise self._error(f"has no signature {signature}; it has: {', '.join(sorted(names)) or 'none'}")
        function = protobuf.text(self._objects[signatures[signature]], 8, 1)
        if function not in self._functions:
            raise self._error(f"signature {signature} has no function")
        arguments = [protobuf.text(argument, 1)
                     for argument in protobuf.messages(self._functions[function], 1, 2)]
        keywords = [value.decode() for value in protobuf.messages(self._objects[signatures[signature]], 8, 2)]
        return function, keywords if len(keywords) <= len(arguments) else arguments

    def _children(self, number: int) -> dict:
        """Numbers of an object's children by name."""
        children = {protobuf.text(child, 2): protobuf.integer(child, 1)
                    for child in protobuf.messages(self._objects[number], 1)}
        return {name: child for name, child in children.items() if child < len(self._objects)}

    def _results(self, name: str, arguments: list, calls: list, depth: int) -> list:
        """What a function returns: numbers of arguments, variables, or results of the program."""
        self._calls += 1
        if name not in self._functions:
            raise self._error(f"function {name} is called, but it is missing")
        if depth > _MAX_DEPTH:
            raise self._error(f"calls of functions are nested more than {_MAX_DEPTH} deep, at {name}")
        if self._calls > _MAX_CALLS:
            raise self._error(f"functions are called more than {_MAX_CALLS} times, at {name}")
        function = self._functions[name]
        nodes = {protobuf.text(node, 1): node for node in protobuf.messages(function, 3)}
        parameters = [protobuf.text(argument, 1) for argument in protobuf.messages(function, 1, 2)]
        if len(parameters) != len(arguments):
            raise self._error(f"{name} is called with {len(arguments)} arguments, expected {len(parameters)}")
        known = dict(zip(parameters, arguments))
        computed = {}

        def value(reference: str):
            # "argument", or "node:output:index".
            node, _, output = reference.partition(":")
            if node in known:
                return known[node]
            if node not in computed:
                compute(node, reference)
            index = output.rpartition(":")[2]
            return computed[node][int(index) if index.isdecimal() else 0]

        def inputs(node: bytes) -> list:
            return [reference for reference in (bytes(r).decode() for r in protobuf.messages(node, 3))
                    if not reference.startswith("^")]

        def compute(wanted: str, reference: str):
            """A node after those that it uses. They may be in any order, and chains of them of any length."""
            todo, begun = [(wanted, reference)], set()
            while todo:
                node, reference = todo[-1]
                if node in computed:
                    todo.pop()
                    continue
                if node not in nodes:
                    raise self._error(f"{name} uses {reference}, which is nowhere")
                references = inputs(nodes[node])
                missing = [(used, r) for used, r in ((r.partition(":")[0], r) for r in references)
                           if used not in known and used not in computed]
                if not missing:
                    computed[node] = outputs(nodes[node], [value(r) for r in references])
                elif node in begun:  # and again on top, above what it waits for
                    raise self._error(f"{name} has a cycle: {node} uses its own result")
                else:
                    begun.add(node)
                    todo += missing

        def outputs(node: bytes, operands: list):
            operation = protobuf.text(node, 2)
            attributes = {protobuf.text(a, 1): protobuf.message(a, 2) for a in protobuf.messages(node, 5)}
            if operation in _IDENTITIES:
                return operands
            if operation in _CALLS:
                return self._results(protobuf.text(attributes["f"], 10, 1), operands, calls, depth + 1)
            if operation == "XlaCallModule":
                platforms = [bytes(p).decode() for p in
                             protobuf.messages(attributes.get("platforms", b""), 1, 2)]
                if platforms and "CPU" not in platforms:
                    raise self._error(f"its program is for {', '.join(platforms)}, not for CPU")
                if len(platforms) > 1:
                    # Programs for several platforms take the number of theirs first.
                    operands = [("platform", platforms.index("CPU")), *operands]
                kinds = protobuf.integers(protobuf.message(attributes.get("Tout", b""), 1), 6)
                calls.append((protobuf.message(attributes["module"], 2), operands, len(kinds)))
                return [("result", i) for i in range(len(kinds))]
            if operation == "NoOp":
                return []
            if operation == "Const":
                return [("constant", protobuf.message(attributes["value"], 8))]
            if any(isinstance(o, tuple) and o[0] == "variable" for o in operands):
                raise NoProgram(f"{self._path}: {name} does {operation} with a variable")
            return [("operation", operation)] * _MAX_DEPTH

        returned = {protobuf.text(entry, 1): protobuf.text(entry, 2)
                    for entry in protobuf.messages(function, 4)}
        for node in nodes:  # those too that are there for what they do to variables
            compute(node, node)
        return [value(returned[protobuf.text(output, 1)]) for output in protobuf.messages(function, 1, 3)]

    def _value(self, operand):
        """An operand of the program: the number of an argument, or an array."""
        if isinstance(operand, int):
            return operand
        kind, value = operand
        if kind == "platform":
            return np.int32(value)
        if kind == "constant":
            return checkpoint.constant(value)
        if kind != "variable":
            raise NoProgram(f"{self._path}: its program takes a result of TensorFlow's {value}")
        if self._checkpoint is None:
            self._checkpoint = checkpoint.Checkpoint(self._path / "variables" / "variables")
            self._keys = self._keys_of_variables()
        if value not in self._keys:
            raise self._error("its program takes a value that is no variable of the checkpoint")
        return self._checkpoint.array(self._keys[value])

    def _keys_of_variables(self) -> dict:
        """Keys in the checkpoint by the number of the model's object: both trees have the same names."""
        tree = list(protobuf.messages(self._checkpoint.text("_CHECKPOINTABLE_OBJECT_GRAPH"), 1))
        keys, reached, todo = {}, {0}, [(0, 0)]
        while todo:
            ours, theirs = todo.pop()
            for attribute in protobuf.messages(tree[theirs], 2):
                if protobuf.text(attribute, 1) == "VARIABLE_VALUE":
                    keys[ours] = protobuf.text(attribute, 3)
            saved = {protobuf.text(c, 2): protobuf.integer(c, 1) for c in protobuf.messages(tree[theirs], 1)}
            for name, child in self._children(ours).items():
                if child not in reached and saved.get(name, len(tree)) < len(tree):
                    reached.add(child)
                    todo.append((child, saved[name]))
        return keys
