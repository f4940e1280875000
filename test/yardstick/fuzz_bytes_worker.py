"""A worker of fuzz_bytes.py: compiles mutated programs through the C API, a batch a line."""

import base64
import json
import random
import sys


def mutate(program, kind, index):
    """Case `index` of a kind: the same bytes for the same arguments."""
    chance = random.Random(f"{kind} {index} {len(program)}")
    if kind == "truncated":
        return program[:chance.randrange(len(program))]
    if kind == "random":
        # Half of them get past the first check of the header.
        head = program[:chance.choice([0, 4, 5, 20])]
        return head + chance.randbytes(chance.randrange(1, 2000))
    changed = bytearray(program)
    if kind == "flipped":
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


def resident_megabytes():
    with open("/proc/self/statm", encoding="ascii") as file:
        return int(file.read().split()[1]) * 4096 / 1e6


def main(library):
    import pypjrt

    client = pypjrt.Client.create(library)

    def run(batch):
        accepted = 0
        program = base64.b64decode(batch["program"])
        for index in range(batch["begin"], batch["begin"] + batch["count"]):
            case = mutate(program, batch["kind"], index)
            try:
                client.compile(case).close()
                accepted += case != program
            except pypjrt.errors.PjrtError:
                pass
        return {"status": "pass", "accepted": accepted, "megabytes": resident_megabytes()}

    for line in sys.stdin:
        print(json.dumps(run(json.loads(line))), flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
