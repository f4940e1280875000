"""The process of runners.Clients: one JSON line a program, on each platform and level."""

import json
import pathlib
import sys

import numpy as np

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))

from program import DTYPES  # noqa: E402


def main():
    import jax
    jax.config.update("jax_enable_x64", True)
    from jax._src import compiler
    from jax._src.interpreters import mlir
    from jaxlib import xla_client
    from jaxlib.mlir import ir

    def run(text, arrays, platform, level):
        device = jax.devices(platform)[0]
        with mlir.make_ir_context() as context, ir.Location.unknown(context):
            module = ir.Module.parse(text)
            options = compiler.get_compile_options(num_replicas=1, num_partitions=1)
            if level is not None:
                options.env_option_overrides = [("isthmus_optimization", level)]
            executable = device.client.compile_and_load(
                module, executable_devices=xla_client.DeviceList((device,)),
                compile_options=options)
        arguments = [jax.device_put(a, device) for a in arrays]
        results = executable.execute_sharded(arguments).disassemble_into_single_device_arrays()
        return [np.asarray(shards[0]) for shards in results]

    for line in sys.stdin:
        item = json.loads(line)
        folder = pathlib.Path(item["folder"])
        with np.load(folder / "inputs.npz") as stored:
            arrays = [np.frombuffer(stored[f"i{i}"].tobytes(), DTYPES[element]).reshape(shape)
                      for i, (element, shape) in enumerate(item["inputs"])]
        errors = []
        for k, (platform, level) in enumerate(item["platforms"]):
            try:
                results = run(item["text"], arrays, platform, level)
                np.savez(folder / f"results{k}.npz", **{
                    f"r{i}": np.frombuffer(np.ascontiguousarray(r).tobytes(), np.uint8)
                    for i, r in enumerate(results)})
                errors.append("")
            except Exception as error:  # what a program does to a client is what we look for
                errors.append(f"{type(error).__name__}: {error}"[:2000])
        print(json.dumps({"errors": errors}), flush=True)


if __name__ == "__main__":
    main()
