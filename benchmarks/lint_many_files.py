"""Time and memory of `lint` over many files: `python benchmarks/lint_many_files.py --files 50000`.

The tree is that of a company's repository: folders of manifests, kustomizations with overlays,
applications, charts and guides. It is made anew in a folder of its own and removed afterwards.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import sys
import tempfile
import time
from pathlib import Path

POD = """\
apiVersion: apps/v1
kind: Deployment
metadata: {{name: app-{number}, namespace: team-{folder}}}
spec:
  replicas: 2
  selector: {{matchLabels: {{app: app-{number}}}}}
  template:
    metadata: {{labels: {{app: app-{number}}}}}
    spec:
      tolerations: [{{key: nvidia.com/gpu, operator: Exists, effect: NoSchedule}}]
      containers:
        - name: main
          image: registry.example/app:{number}
          env:
            - {{name: MODEL, value: "model-{number}"}}
            - {{name: NVIDIA_VISIBLE_DEVICES, value: {devices}}}
          resources:
            requests: {{cpu: "2", memory: 8Gi}}
            limits: {{nvidia.com/gpu: 1}}
"""
CONFIG = """\
apiVersion: v1
kind: ConfigMap
metadata: {{name: settings-{number}}}
data:
  settings: |
{lines}
"""
GUIDE = "# Folder {folder}\n\nHow to use it:\n\n```sh\nkubectl apply -f .\n```\n"
_IN_A_FOLDER = 25


def make_tree(top: Path, files: int) -> int:
    """Write a tree of so many files; the bytes that it has."""
    size = made = folder = 0
    while made < files:
        place = top / f"team-{folder // 40}" / f"service-{folder}"
        place.mkdir(parents=True)
        texts = {"README.md": GUIDE.format(folder=folder)}
        names = []
        for number in range(made, min(files - 1, made + _IN_A_FOLDER)):
            name = f"app-{number}.yaml"
            if number % 3:
                lines = "\n".join(f"    key-{line}: value of {number}" for line in range(40))
                texts[name] = CONFIG.format(number=number, lines=lines)
            else:
                devices = "all" if number % 30 == 0 else "none"
                texts[name] = POD.format(number=number, folder=folder, devices=devices)
            names.append(name)
        if folder % 4 == 0:
            listed = "\n".join(f"  - {name}" for name in names)
            texts["kustomization.yaml"] = f"resources:\n{listed}\n"
        for name, text in list(texts.items())[: files - made]:
            (place / name).write_text(text)
            size += len(text)
            made += 1
        folder += 1
    return size


def main() -> int:
    """Make the tree, lint it, and print what that took."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=50_000)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as top:
        size = make_tree(Path(top), options.files)
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        began = time.monotonic()
        command = [sys.executable, "-m", "eks_gpushare", "lint", "--no-config", "-q", "."]
        environment = {**os.environ}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        done = subprocess.run(
            command, cwd=top, capture_output=True, text=True, check=False, env=environment
        )
        wall = time.monotonic() - began
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu = used.ru_utime + used.ru_stime - before.ru_utime - before.ru_stime
    megabytes = size / 1024 / 1024
    print(done.stdout.splitlines()[-1] if done.stdout else done.stderr)
    print(f"exit code {done.returncode}")
    print(f"{options.files:,} files, {megabytes:.1f} MB, {wall:.0f} s")
    print(f"{cpu:.1f} CPU seconds, {cpu / megabytes:.2f} per MB")
    print(f"{used.ru_maxrss / 1024:.0f} MB of memory at most")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
