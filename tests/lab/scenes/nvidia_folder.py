"""A folder with programs of the tests' own in place of NVIDIA's: they do what a file tells them."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from typing import TYPE_CHECKING, Any

import pytest

from eks_gpushare_lab.errors import LabError
from eks_gpushare_lab.nvidia import mounts

if TYPE_CHECKING:
    from pathlib import Path

# Speaks the wire format of the API by hand, so that no message of the lab's own is held to itself.
_PLUGIN = """#!{python} -IS
import json, os, sys
sys.path[:0] = {path!r}
script = json.load(open({script!r}))["plugin"]
config = os.environ.get("CONFIG_FILE")
print("configuration", repr(open(config).read()) if config else None, flush=True)
print("arguments", sys.argv[1:], "strategy", os.environ.get("MIG_STRATEGY"), flush=True)
print("pid", os.getpid(), flush=True)
for folder in ("/var/lib", "/run"):
    print(folder, sorted(os.listdir(folder)), flush=True)
if "ends" in script:
    sys.exit(script["ends"])
import grpc, signal, threading
from concurrent.futures import ThreadPoolExecutor

def text(number, value):
    value = value.encode()
    size, head = len(value), bytes([number << 3 | 2])
    out = b""
    while size > 127:
        out, size = out + bytes([size & 127 | 128]), size >> 7
    return head + out + bytes([size]) + value

def message(devices):
    return b"".join(text(1, (text(1, i) + text(2, h)).decode()) for i, h in devices)

FOLDER = "/var/lib/kubelet/device-plugins/"
for resource, devices in script.get("registers", {{}}).items():
    def list_and_watch(request, context, devices=devices):
        well = [(f"{{resource}}-{{n}}", "Healthy") for n in range(devices)]
        yield message([*well, ("ill", "Unhealthy")])
        threading.Event().wait()
    server = grpc.server(ThreadPoolExecutor(2))
    handler = grpc.unary_stream_rpc_method_handler(list_and_watch)
    service = "v1beta1.DevicePlugin", {{"ListAndWatch": handler}}
    server.add_generic_rpc_handlers((grpc.method_handlers_generic_handler(*service),))
    endpoint = resource.replace("/", "-") + ".sock"
    server.add_insecure_port("unix:" + FOLDER + endpoint)
    server.start()
    script.setdefault("servers", []).append(server)
    kubelet = grpc.insecure_channel("unix:" + FOLDER + "kubelet.sock")
    register = kubelet.unary_unary("/v1beta1.Registration/Register")
    version = script.get("version", "v1beta1")
    register(text(1, version) + text(2, endpoint) + text(3, resource), timeout=10)
if not script.get("registers") and not script.get("silent"):
    print("No devices found. Waiting indefinitely.", flush=True)
signal.pause()
"""
_DISCOVERY = """#!{python} -IS
import json, os, sys
script = json.load(open({script!r}))["discovery"]
if "ends" in script:
    sys.exit(script["ends"])
assert os.environ["GFD_ONESHOT"] == "true"
labels = dict(script["labels"])
machine = open(os.environ["GFD_MACHINE_TYPE_FILE"]).read().strip()
labels["nvidia.com/gpu.machine"] = machine
with open(os.environ["GFD_OUTPUT_FILE"], "w") as out:
    out.writelines(f"{{name}}={{value}}\\n" for name, value in labels.items())
"""
# What NVML tells, of the JSON that the lab writes for a mock of it.
_LIBRARY = r"""
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
static char text[1 << 20];
static int count;
static char *name;
int nvmlInit_v2(void) {
  FILE *file = fopen(getenv("MOCK_NVML_CONFIG"), "r");
  if (!file) return 1;
  fread(text, 1, sizeof text - 1, file);
  fclose(file);
  for (char *at = text; (at = strstr(at, "\"index\": ")); at++) count++;
  name = strstr(text, "\"name\": \"") + 9;
  return 0;
}
int nvmlDeviceGetCount_v2(unsigned *found) { *found = count; return 0; }
int nvmlDeviceGetHandleByIndex_v2(unsigned index, void **found) {
  *found = &count + index;
  return 0;
}
int nvmlDeviceGetName(void *device, char *found, unsigned size) {
  snprintf(found, size, "%.*s", (int)strcspn(name, "\""), name);
  return 0;
}
int nvmlDeviceGetMigMode(void *device, unsigned *now, unsigned *later) { return 3; }
"""


def make(folder: Path, **script: Any) -> Path:
    """A folder for `--nvidia`; `tell` changes what its programs do.

    The library is compiled: without a C compiler the test is skipped, and so it is where the
    kernel gives no mount namespace.
    """
    try:
        mounts.check_namespaces()
    except LabError as error:
        pytest.skip(str(error))
    compiler = shutil.which("cc")
    if compiler is None:
        pytest.skip("no C compiler: the test's own libnvidia-ml.so.1 is compiled")
    folder.mkdir()
    source = folder / "nvml.c"
    source.write_text(_LIBRARY, encoding="ascii")
    library = str(folder / "libnvidia-ml.so.1")
    subprocess.run([compiler, "-shared", "-fPIC", "-w", "-o", library, source], check=True)
    values = {"python": sys.executable, "path": sys.path, "script": str(folder / "script.json")}
    for name, text in (("nvidia-device-plugin", _PLUGIN), ("gpu-feature-discovery", _DISCOVERY)):
        file = folder / name
        file.write_text(text.format(**values), encoding="utf-8")
        file.chmod(0o755)
    tell(folder, **script)
    return folder


def tell(folder: Path, **script: Any) -> None:
    """Have the programs of a folder do something else."""
    whole = {"plugin": {}, "discovery": {"labels": {}}, **script}
    (folder / "script.json").write_text(json.dumps(whole), encoding="utf-8")
