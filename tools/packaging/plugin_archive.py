"""Write the plugin as the archives that Pulumi's engine installs, one for each platform.

    python tools/packaging/plugin_archive.py dist-plugin dist/eks_gpushare*-0.1.0-py3-none-any.whl

Each holds the plugin's folder at its root and the wheels beside it, so that what a program runs is
the release itself; what the wheels depend on, pip gets. The content is the same for all: the engine
asks for a name that has the platform in it.
"""

from __future__ import annotations

import io
import sys
import tarfile
from pathlib import Path

PLUGIN = Path(__file__).parents[2] / "plugin"
FILES = ("PulumiPlugin.yaml", "__main__.py")
PLATFORMS = ("linux-amd64", "linux-arm64", "darwin-amd64", "darwin-arm64", "windows-amd64")


def write_archives(wheels: list[Path], folder: Path) -> list[Path]:
    """Write the archive of each platform.

    Args:
        wheels: Those of the checks and of the components, all of one version.
        folder: Where the archives go; made if it is not there.

    Returns:
        The archives.
    """
    (version,) = {wheel.name.split("-")[1] for wheel in wheels}
    members = {name: (PLUGIN / name).read_bytes() for name in FILES}
    members["requirements.txt"] = "".join(f"./{wheel.name}\n" for wheel in wheels).encode()
    members |= {wheel.name: wheel.read_bytes() for wheel in wheels}
    folder.mkdir(parents=True, exist_ok=True)
    paths = [
        folder / f"pulumi-resource-eks-gpushare-v{version}-{platform}.tar.gz"
        for platform in PLATFORMS
    ]
    for path in paths:
        with tarfile.open(path, "w:gz") as archive:
            for name, content in members.items():
                about = tarfile.TarInfo(name)
                about.size, about.mode = len(content), 0o644
                archive.addfile(about, io.BytesIO(content))
    return paths


if __name__ == "__main__":
    for written in write_archives([Path(word) for word in sys.argv[2:]], Path(sys.argv[1])):
        print(written)
