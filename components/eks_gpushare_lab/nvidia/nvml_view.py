"""What a library of NVML shows, as JSON: whether it loads, and each GPU with its MIG instances.

    python -I -S nvml_view.py LIBRARY

A script of its own: a library that crashes takes nothing of the lab with it.
"""

from __future__ import annotations

import ctypes
import json
import sys

_NAME = 96  # NVML_DEVICE_NAME_V2_BUFFER_SIZE
_NO_INSTANCE = (6, 3)  # NVML_ERROR_NOT_FOUND, NVML_ERROR_NOT_SUPPORTED


class _Nvml:
    def __init__(self, path: str) -> None:
        self._library = ctypes.CDLL(path)

    def ask(self, function: str, *arguments: object) -> None:
        code = getattr(self._library, function)(*arguments)
        if code:
            raise OSError(code, f"{function} failed with {code}")


def main() -> None:
    """Print what it shows."""
    try:
        nvml = _Nvml(sys.argv[1])
        nvml.ask("nvmlInit_v2")
        count = ctypes.c_uint()
        nvml.ask("nvmlDeviceGetCount_v2", ctypes.byref(count))
        sys.stdout.write(json.dumps([_gpu(nvml, number) for number in range(count.value)]))
    except (OSError, AttributeError) as error:
        sys.exit(str(error))


def _gpu(nvml: _Nvml, number: int) -> dict[str, object]:
    handle = ctypes.c_void_p()
    nvml.ask("nvmlDeviceGetHandleByIndex_v2", number, ctypes.byref(handle))
    name = ctypes.create_string_buffer(_NAME)
    nvml.ask("nvmlDeviceGetName", handle, name, _NAME)
    now, later = ctypes.c_uint(), ctypes.c_uint()
    try:
        nvml.ask("nvmlDeviceGetMigMode", handle, ctypes.byref(now), ctypes.byref(later))
    except OSError:
        capable = False
    else:
        capable = True
    instances = _instances(nvml, handle) if now.value else None
    return {"name": name.value.decode(), "mig": capable, "instances": instances}


def _instances(nvml: _Nvml, handle: ctypes.c_void_p) -> int:
    most = ctypes.c_uint()
    nvml.ask("nvmlDeviceGetMaxMigDeviceCount", handle, ctypes.byref(most))
    found = 0
    for index in range(most.value):
        instance = ctypes.c_void_p()
        try:
            nvml.ask("nvmlDeviceGetMigDeviceHandleByIndex", handle, index, ctypes.byref(instance))
        except OSError as error:
            if error.errno not in _NO_INSTANCE:
                raise
            continue
        found += 1
    return found


if __name__ == "__main__":
    main()
