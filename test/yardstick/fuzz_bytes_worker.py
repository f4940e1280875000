"""A worker of fuzz_bytes.py: hands mutated bytes to the C API, a batch a line."""

import base64
import ctypes
import json
import random
import sys

PROGRAM = b"""func.func @main(%x: tensor<4xf32>) -> tensor<4xf32> {
  %0 = stablehlo.add %x, %x : tensor<4xf32>
  return %0 : tensor<4xf32>
}"""


def mutate(seed, mutation, index):
    """Case `index` of a mutation: the same bytes for the same arguments."""
    chance = random.Random(f"{mutation} {index} {len(seed)}")
    if mutation == "truncated":
        return seed[:chance.randrange(len(seed))]
    if mutation == "random":
        # Half of them get past the first check of the header.
        head = seed[:chance.choice([0, 4, 5, 20])]
        return head + chance.randbytes(chance.randrange(1, 2000))
    changed = bytearray(seed)
    if mutation == "flipped":
        for _ in range(chance.choice([1, 1, 2, 8])):
            changed[chance.randrange(len(changed))] ^= 1 << chance.randrange(8)
        return bytes(changed)
    for _ in range(chance.choice([1, 2, 5])):
        begin = chance.randrange(len(changed))
        length = chance.randrange(1, 30)
        action = chance.randrange(3)
        if action == 0:
            del changed[begin:begin + length]
        elif action == 1:
            changed[begin:begin] = changed[begin:begin + length] * chance.randrange(1, 4)
        else:
            changed[begin:begin + 1] = chance.choice(
                [b"-1", b"<", b">", b"9223372036854775807", b"?", b"%", b"()", b"\0", b"tensor<"])
    return bytes(changed)


def _pointer(data):
    return ctypes.cast(ctypes.create_string_buffer(data, len(data)), ctypes.c_void_p)


def compile_program(client, code, code_format, options=None):
    import pypjrt
    plugin = client._plugin
    if options is None:
        options = pypjrt.CompileOptions().encode(plugin.abi)
    code_format = code_format.encode()
    program = plugin.args("PJRT_Program", code=_pointer(code), code_size=len(code),
                          format=_pointer(code_format), format_size=len(code_format))
    args = plugin.args("PJRT_Client_Compile_Args", client=client.address,
                       program=ctypes.addressof(program), compile_options=_pointer(options),
                       compile_options_size=len(options))
    plugin.call("PJRT_Client_Compile", args)
    pypjrt.Executable(plugin, args.executable, client).close()


def serialize_topology(client):
    plugin = client._plugin
    description = plugin.args("PJRT_Client_TopologyDescription_Args", client=client.address)
    plugin.call("PJRT_Client_TopologyDescription", description)
    args = plugin.args("PJRT_TopologyDescription_Serialize_Args", topology=description.topology)
    plugin.call("PJRT_TopologyDescription_Serialize", args)
    code = ctypes.string_at(args.serialized_bytes, args.serialized_bytes_size)
    deleter = ctypes.CFUNCTYPE(None, ctypes.c_void_p)(args.serialized_topology_deleter)
    deleter(args.serialized_topology)
    return code


def deserialize_topology(client, code):
    plugin = client._plugin
    args = plugin.args("PJRT_TopologyDescription_Deserialize_Args",
                       serialized_topology=_pointer(code), serialized_topology_size=len(code))
    plugin.call("PJRT_TopologyDescription_Deserialize", args)
    plugin.call("PJRT_TopologyDescription_Destroy", plugin.args(
        "PJRT_TopologyDescription_Destroy_Args", topology=args.topology))


TARGETS = {
    "bytecode": lambda client, code: compile_program(client, code, "mlir"),
    "text": lambda client, code: compile_program(client, code, "mlir"),
    "hlo": lambda client, code: compile_program(client, code, "hlo"),
    "options": lambda client, code: compile_program(client, PROGRAM, "mlir", code),
    "executable": lambda client, code: client.deserialize_executable(code).close(),
    "topology": deserialize_topology,
}


def resident_megabytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def main(library):
    import pypjrt

    client = pypjrt.Client.create(library)

    def run(batch):
        accepted = 0
        seed = base64.b64decode(batch["seed"])
        for index in range(batch["begin"], batch["begin"] + batch["count"]):
            case = mutate(seed, batch["mutation"], index)
            try:
                TARGETS[batch["target"]](client, case)
                accepted += case != seed
            except pypjrt.errors.PjrtError as error:
                if not str(error):
                    return {"status": "fail", "message": f"case {index}: an error without a message"}
        return {"status": "pass", "accepted": accepted, "megabytes": resident_megabytes()}

    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
