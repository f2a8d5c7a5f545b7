"""An `nvidia-smi` without a GPU, for the script that cuts GPUs at boot.

It judges by tables of its own where an instance may lie, and writes as nvidia-smi does (formats as
in captures of drivers 535 and 580). The state of a machine also says what shall go wrong.

A boot calls it some thirty times, and to start an interpreter costs many times what a call does. So
the program on the machine is a few lines of shell, which hand its words to the process of the tests
and print what comes back.
"""

from __future__ import annotations

import os
import threading
import traceback
from contextlib import contextmanager
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path
    from typing import Any, NoReturn, TypeAlias

    # Name, size on the memory axis, where it may start, most on a GPU.
    Profile: TypeAlias = tuple[str, int, tuple[int, ...], int]

NOT_FOUND, IN_USE, INSUFFICIENT, INVALID, TIMED_OUT = 6, 19, 21, 2, 124
TEXTS = {
    IN_USE: "In use by another client",
    INSUFFICIENT: "Insufficient Resources",
    INVALID: "Invalid Argument",
}


def _sevenths(small: int, total: int) -> dict[int, Profile]:
    def name(compute: int, slices: int) -> str:
        return f"{compute}g.{total if slices == 8 else small * slices}gb"

    any_slice = tuple(range(7))
    return {
        19: (name(1, 1), 1, any_slice, 7),
        20: (name(1, 1) + "+me", 1, any_slice, 1),
        15: (name(1, 2), 2, (0, 2, 4, 6), 4),
        14: (name(2, 2), 2, (0, 2, 4), 3),
        9: (name(3, 4), 4, (0, 4), 2),
        5: (name(4, 4), 4, (0,), 1),
        0: (name(7, 8), 8, (0,), 1),
    }


_QUERY = "--query-gpu=index,name,mig.mode.current,mig.mode.pending"
_QUARTERS = (0, 3, 6, 9)
NAMES = {
    "a100": "NVIDIA A100-SXM4-40GB",
    "h100": "NVIDIA H100 80GB HBM3",
    "rtx": "NVIDIA RTX PRO 6000 Blackwell Server Edition",
    "v100": "Tesla V100-SXM2-16GB",
}
PROFILES: dict[str, dict[int, Profile]] = {
    "a100": _sevenths(5, 40),
    "h100": _sevenths(10, 80),
    "rtx": {
        14: ("1g.24gb", 3, _QUARTERS, 4),
        65: ("1g.24gb+me.all", 3, _QUARTERS, 1),
        67: ("1g.24gb-me", 3, _QUARTERS, 4),
        5: ("2g.48gb", 6, (0, 6), 2),
        0: ("4g.96gb", 12, (0,), 1),
    },
    "v100": {},
}


class _NoAnswer(Exception):  # noqa: N818  (the same)
    pass


class _Ended(Exception):  # noqa: N818  (to end is no error)
    def __init__(self, code: int, text: str) -> None:
        super().__init__(code, text)
        self.code, self.text = code, text


def _end(code: int, *lines: str) -> NoReturn:
    raise _Ended(code, "".join(f"{line}\n" for line in lines))


def _gpu_list(state: dict[str, Any]) -> None:
    lines = []
    for index, gpu in enumerate(state["gpus"]):
        lines.append(f"GPU {index}: {NAMES[gpu['board']]} (UUID: GPU-{index:08d})")
        lines += [
            f"  MIG {each['name']:<12}Device {number:2d}: (UUID: MIG-{number})"
            for number, each in enumerate(gpu["instances"])
            for _ in each["computes"]
        ]
    _end(0, *lines)


def _query(state: dict[str, Any]) -> None:
    if not state["gpus"]:
        _end(NOT_FOUND, "No devices were found")
    lines = [
        f"{index}, {NAMES[gpu['board']]}, {gpu['current']}, {gpu['pending']}"
        for index, gpu in enumerate(state["gpus"])
    ]
    _end(0, *lines)


def _set_mode(gpu: dict[str, Any], index: int, wanted: str) -> None:
    mode = "Enabled" if wanted == "1" else "Disabled"
    bus = f"00000000:{index + 16:02X}:00.0"
    if not PROFILES[gpu["board"]]:
        _end(3, f"Unable to set MIG Mode for GPU {bus}: Not Supported\nTreating as warning.")
    if gpu["instances"]:
        _end(IN_USE, f"Unable to set MIG Mode for GPU {bus}: In use by another client")
    if gpu["current"] == mode:
        gpu["pending"] = mode
        # Seen on hardware: a mode that is there already is no success.
        _end(255, f"MIG Mode is already {mode} for GPU {bus}")
    gpu["pending"] = mode
    pending = f"Warning: MIG mode is in pending {'enable' if wanted == '1' else 'disable'} state"
    if gpu.get("clients", 0) > 0:
        gpu["clients"] -= 1
        _end(0, f"{pending} for GPU {bus}:In use by another client\n{bus} is in use.\nAll done.")
    if gpu["resets"]:
        _end(0, f"{pending} for GPU {bus}:Not Supported\nReboot the system or try it.\nAll done.")
    gpu["current"] = mode
    _end(0, f"{mode} MIG Mode for GPU {bus}\nAll done.")


def _list_instances(gpu: dict[str, Any], index: int) -> None:
    if not gpu["instances"]:
        _end(NOT_FOUND, "No GPU instances found: Not Found")
    line = "+" + "-" * 57 + "+"
    rows = [
        line,
        "| GPU instances:                                          |",
        "| GPU   Name               Profile  Instance   Placement  |",
        "|                            ID       ID       Start:Size |",
        "|=========================================================|",
    ]
    for each in sorted(gpu["instances"], key=lambda each: (each["name"], each["start"])):
        size = PROFILES[gpu["board"]][each["profile"]][1]
        name, place = f"{index:4d}  MIG {each['name']:<17}", f"{each['start']}:{size}"
        rows += [f"|{name}{each['profile']:4d}{each['id']:9d}{place:>13}     |", line]
    _end(0, *rows)


def _list_computes(gpu: dict[str, Any], index: int) -> None:
    line = "+" + "-" * 68 + "+"
    rows = [
        line,
        "| Compute instances:                                                 |",
        "| GPU     GPU       Name             Profile   Instance   Placement  |",
        "|       Instance                       ID        ID       Start:Size |",
        "|         ID                                                         |",
        "|====================================================================|",
    ]
    for each in gpu["instances"]:
        for number, name in enumerate(each["computes"]):
            where = f"{index:4d}{each['id']:7d}       MIG {name:<16}"
            rows += [f"|{where}{0:3d}{number:10d}          0:1     |", line]
    if rows[-1] != line:
        _end(NOT_FOUND, "No compute instances found: Not Found")
    _end(0, *rows)


def _destroy(gpu: dict[str, Any], index: int, what: str) -> None:
    if not gpu["instances"]:
        _end(NOT_FOUND, f"Unable to destroy {what} instances: Not Found")
    held = gpu.get("busy") or (what == "GPU" and any(i["computes"] for i in gpu["instances"]))
    if held:
        first = gpu["instances"][0]["id"]
        why = TEXTS[IN_USE]
        line = f"Unable to destroy {what} instance ID {first:2d} from GPU {index:2d}: {why}"
        _end(IN_USE, line, f"Failed to destroy {what} instances: {why}")
    for each in gpu["instances"]:
        each["computes"] = []
    if what == "GPU":
        gpu["instances"] = []
    _end(0, f"Successfully destroyed {what} instances on GPU {index:2d}")


def _create(state: dict[str, Any], gpu: dict[str, Any], index: int, wanted: str) -> None:
    if gpu["current"] != "Enabled":
        _end(NOT_FOUND, "No MIG-enabled devices found.")
    said: list[str] = []
    for entry in wanted.split(","):
        word, colon, start = entry.partition(":")
        if state["refuses"].get(word, 0) > 0:
            state["refuses"][word] -= 1
            _refused(said, index, word, INSUFFICIENT)
        found = _profile(gpu["board"], word)
        if found is None or not colon or int(start) not in found[1][2]:
            _refused(said, index, word, INVALID)
        if gpu.get("busy"):
            _refused(said, index, word, IN_USE)
        number, profile = found
        if not _free(gpu, profile, int(start)):
            _refused(said, index, word, INSUFFICIENT)
        taken = {each["id"] for each in gpu["instances"]}
        own, name = next(each for each in range(1, 99) if each not in taken), profile[0]
        made = {"id": own, "name": name, "profile": number, "start": int(start)}
        computes = [f"1c.{name}"] if state.get("halves") else [name]
        gpu["instances"].append({**made, "computes": computes})
        said.append(
            f"Successfully created GPU instance ID {own:2d} on GPU {index:2d} "
            f"using profile MIG {name} (ID {number:2d})"
        )
    _end(0, *said)


def _refused(said: list[str], index: int, word: str, code: int) -> NoReturn:
    why = TEXTS[code]
    line = f"Unable to create a GPU instance on GPU {index:2d} using profile {word}: {why}"
    _end(code, *said, line, f"Failed to create GPU instances: {why}")


def _profile(board: str, word: str) -> tuple[int, Profile] | None:
    for number, profile in PROFILES[board].items():
        if word in {str(number), profile[0]}:
            return number, profile
    return None


def _free(gpu: dict[str, Any], wanted: Profile, start: int) -> bool:
    name, size, _, most = wanted
    alike = [each for each in gpu["instances"] if each["name"] == name]
    return len(alike) < most and all(
        start + size <= each["start"]
        or each["start"] + PROFILES[gpu["board"]][each["profile"]][1] <= start
        for each in gpu["instances"]
    )


def _run(state: dict[str, Any], words: list[str]) -> None:
    text = " ".join(words)
    state["log"].append(text)
    if state["early"][0]:
        state["early"][0] -= 1
        _end(state["early"][1])  # what it says differs, and decides nothing
    if state["sleeps"]:
        state["sleeps"] -= 1
        raise _NoAnswer
    if any(part in text for part in state["hangs"]):
        _end(TIMED_OUT)  # as `timeout` would report it
    if words == ["-L"]:
        _gpu_list(state)
    elif words == [_QUERY, "--format=csv,noheader"]:
        _query(state)
    elif words[0] == "mig":
        _mig(state, words[1:])
    elif words[0] == "-i" and words[2] == "-mig":
        _set_mode(state["gpus"][int(words[1])], int(words[1]), words[3])
    else:
        _end(INVALID, f"Invalid combination of input arguments: {text}")


def _mig(state: dict[str, Any], words: list[str]) -> None:
    index, command = int(words[1]), words[2:]
    gpu = state["gpus"][index]
    if gpu["current"] != "Enabled":
        _end(NOT_FOUND, "No MIG-enabled devices found.")
    if command == ["-lgi"] and state.get("garbled"):
        _end(0, "|   0  MIG 1g.5gb   in a format of its own |")
    if command == ["-lgi"]:
        _list_instances(gpu, index)
    elif command == ["-lci"]:
        _list_computes(gpu, index)
    elif command in (["-dci"], ["-dgi"]):
        _destroy(gpu, index, "compute" if command == ["-dci"] else "GPU")
    elif command[0] == "-cgi" and command[2:] == ["-C"]:
        _create(state, gpu, index, command[1])
    else:
        _end(INVALID, f"Invalid combination of input arguments: {words}")


CLIENT = """\
printf '%s\\n' "$@" >{requests}
exec <{answers}
read -r code
while IFS= read -r line; do printf '%s\\n' "$line"; done
exit "$code"
"""
"""The program on the machine: it waits for an answer for as long as its caller lets it."""


def client(folder: Path) -> str:
    """Text of the program of a machine whose calls are answered in this folder."""
    return CLIENT.format(requests=folder / "requests", answers=folder / "answers")


def answer(state: dict[str, Any], words: list[str]) -> tuple[int, str] | None:
    """The exit code and output of one call, or None if it never ends."""
    try:
        _run(state, words)
    except _Ended as ended:
        return ended.code, ended.text
    except _NoAnswer:
        return None
    except Exception:  # noqa: BLE001  (a fault of the fake is told as a program's is)
        return 1, traceback.format_exc()
    return 0, ""


def _answer_all(folder: Path, state: dict[str, Any]) -> None:
    while words := (folder / "requests").read_text(encoding="utf-8").splitlines():
        if (given := answer(state, words)) is not None:
            text = f"{given[0]}\n{given[1]}"
            (folder / "answers").write_text(text, encoding="utf-8")


@contextmanager
def answering(folder: Path, state: dict[str, Any]) -> Iterator[None]:
    """Answer the calls of one machine, one after the other, as its script makes them."""
    for name in ("requests", "answers"):
        if not (folder / name).exists():
            os.mkfifo(folder / name)
    thread = threading.Thread(target=_answer_all, args=(folder, state), daemon=True)
    thread.start()
    try:
        yield
    finally:
        (folder / "requests").write_text("", encoding="utf-8")
        thread.join()
