"""SavedModels of TensorFlow's own operations as programs that need no TensorFlow.

TensorFlow (2.13 or newer) lowers the model by its own XLA bridge to StableHLO; what comes of it is a folder as
torch_xla saves them: program, weights, and what the parameters are.
"""

import json
import pathlib

import numpy as np

from isthmus import artifacts


def convert(path, folder, *, signature: str | None = None, shapes: dict | None = None) -> artifacts.Program:
    """Writes the folder of a SavedModel's signature, whose arguments without a size get the `shapes` by name.
    Imports TensorFlow."""
    program = lower(path, signature=signature, shapes=shapes)
    artifacts.save_folder(program, pathlib.Path(folder))
    return program


def lower(path, *, signature: str | None = None, shapes: dict | None = None) -> artifacts.Program:
    try:
        import tensorflow as tf
    except ImportError:
        raise ValueError("the model is lowered by TensorFlow, which is not installed here") from None

    with tf.device("/CPU:0"):
        model = tf.saved_model.load(str(path))
        signatures = getattr(model, "signatures", {})
        if signature is None:
            signature = ("serving_default" if "serving_default" in signatures or len(signatures) != 1
                         else next(iter(signatures)))
        if signature not in signatures:
            raise ValueError(f"{path}: has no signature {signature}; it has: "
                             f"{', '.join(sorted(signatures)) or 'none'}")
        function = signatures[signature]
        arguments = dict(_arguments(function, dict(shapes or {})))
        names, specs = list(arguments), list(arguments.values())
        compiled = tf.function(lambda *given: function(**dict(zip(names, given))),
                               jit_compile=True, autograph=False)
        try:
            code = compiled.experimental_get_compiler_ir(*specs)(
                stage="stablehlo_serialized", platform_name="CPU")
        except (tf.errors.OpError, ValueError, TypeError) as error:
            raise ValueError(f"{path}: TensorFlow cannot lower signature {signature}: {error}") from error
        # Its parameters: the arguments, then what the function has captured.
        traced = compiled.get_concrete_function(*specs)
        written = [op.type for op in _operations(traced.graph) if op.type.startswith("Assign")]
        if written:
            raise ValueError(f"{path}: signature {signature} changes variables ({written[0]}), which a program "
                             "without TensorFlow cannot")
        captured = [_array(tf, tensor) for tensor in traced.captured_inputs]
    return artifacts.Program(code, [*range(len(names)), *captured], pathlib.Path(path).name,
                             len(names), names)


def _arguments(function, shapes: dict):
    """Names and specifications of a signature's arguments, with sizes."""
    import tensorflow as tf

    for name, spec in sorted(function.structured_input_signature[1].items()):
        shape = tf.TensorShape(shapes.pop(name, spec.shape))
        if not shape.is_fully_defined():
            raise ValueError(f"argument {name} has the shape {spec.shape}: give it sizes, such as --shape "
                             f"{name}={','.join(str(d or 8) for d in spec.shape or [8])}")
        if not spec.shape.is_compatible_with(shape):
            raise ValueError(f"argument {name} has the shape {spec.shape}, not {shape}")
        yield name, tf.TensorSpec(shape, spec.dtype)
    if shapes:
        raise ValueError(f"there is no argument {', '.join(sorted(shapes))}; there are: "
                         f"{', '.join(sorted(function.structured_input_signature[1]))}")


def _operations(graph):
    """Of a graph and of the functions that it may call."""
    yield from graph.get_operations()
    for function in graph._functions.values():
        yield from function.graph.get_operations()


def _array(tf, tensor) -> np.ndarray:
    if tensor.dtype != tf.resource:
        return tensor.numpy()
    data = tf.raw_ops.ReadVariableOp(resource=tensor, dtype=tensor._handle_data.shape_and_type[0].dtype)
    return data.numpy()
