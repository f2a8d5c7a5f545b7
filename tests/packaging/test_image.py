"""The image of docs/verify.md, built and run as its pod runs it. Needs docker and its registry."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from eks_gpushare.sharing.verifier import USER

ROOT = Path(__file__).parents[2]
DUMP = ROOT / "examples" / "verify" / "cluster.json"
DOCKER = shutil.which("docker") or ""


def ran(*command: str | Path, cwd: Path | None = None) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, cwd=cwd)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def image(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The image by its ID, with the checks of this repository and what they need of PyPI."""
    if not DOCKER or subprocess.run((DOCKER, "info"), capture_output=True, check=False).returncode:
        pytest.skip("no docker, or no daemon that it speaks to")
    folder = tmp_path_factory.mktemp("image")
    build = (sys.executable, "-m", "build", "--no-isolation", "--wheel", "--outdir", "wheels")
    ran(*build, str(ROOT), cwd=folder)
    text = (ROOT / "docs" / "verify.md").read_text(encoding="utf-8")
    (page,) = re.findall(r"```dockerfile\n(.*?)```", text, re.DOTALL)
    base, rest = page.split("\n", 1)
    here = "COPY wheels /wheels\nENV PIP_FIND_LINKS=/wheels"
    (folder / "Dockerfile").write_text(f"{base}\n{here}\n{rest}", encoding="utf-8")
    return ran(DOCKER, "build", "--quiet", ".", cwd=folder).strip()


def test_its_user_is_that_of_the_pod(image: str) -> None:
    user = ran(DOCKER, "image", "inspect", "--format", "{{.Config.User}}", image)

    assert user.strip() == f"{USER}:{USER}"


def test_it_verifies_where_it_may_write_nothing_and_reach_nobody(image: str) -> None:
    confined = ("--read-only", "--network=none", "--cap-drop=ALL")
    mounted = ("--volume", f"{DUMP}:/dump/cluster.json:ro")
    asked = ("verify", "--from", "/dump/cluster.json", "--json")
    told = json.loads(ran(DOCKER, "run", "--rm", *confined, *mounted, image, *asked))

    assert told["ok"] is True
    assert [pool["pool"] for pool in told["pools"]] == ["gpu"]
