"""Folders that model servers write to: where they can, and where they cannot."""

from __future__ import annotations

from pathlib import PurePosixPath

import pytest
from lint_corpus import found_in

POD = """\
apiVersion: v1
kind: KIND
metadata: {name: demo}
spec:
  SECURITY
  volumes:
    - VOLUME
  containers:
    - name: main
      image: IMAGE
      args: [ARGS]
      env: [ENV]
      FROM
      CONTEXT
      resources: {limits: {LIMIT}}
      volumeMounts: [MOUNTS]
"""
OF_ROOT = PurePosixPath("/", "root", ".cache")
CLAIM = "{name: models, persistentVolumeClaim: {claimName: models}}"


def found(
    args: str = "--model=a/b",
    env: str = "{name: HF_HOME, value: /models}",
    mounts: str = "{name: models, mountPath: /models, readOnly: true}",
    volume: str = CLAIM,
    context: str = "stdin: false",
    security: str = "dnsPolicy: Default",
    image: str = "vllm/vllm-openai:v0.9.2",
    limit: str = "nvidia.com/gpu: 1",
    given: str = "tty: false",
    kind: str = "Pod",
) -> list[str]:
    text = POD.replace("ARGS", args).replace("ENV", env).replace("MOUNTS", mounts)
    text = text.replace("VOLUME", volume).replace("CONTEXT", context).replace("FROM", given)
    text = text.replace("SECURITY", security).replace("IMAGE", image).replace("LIMIT", limit)
    every = found_in({"a.yaml": text.replace("KIND", kind)})
    return [each.message for each in every if each.code == "GPU1387"]


ROOT = {"context": "securityContext: {readOnlyRootFilesystem: true}", "env": "", "mounts": ""}
TGI = {
    "image": "ghcr.io/huggingface/text-generation-inference:3.0",
    "args": "--model-id=a/b",
    "env": "",
    "mounts": "{name: models, mountPath: /data, readOnly: true}",
}


@pytest.mark.parametrize(
    "given",
    [
        {},
        {"env": "{name: HF_HUB_CACHE, value: /models/hub}"},
        {"mounts": "{name: models, mountPath: /models/, readOnly: true}"},
        {"args": "serve, a/b", "image": "own:1", "given": "command: [vllm]"},
        {"args": "--model=a/b, --download-dir, /models", "env": ""},
        {
            "mounts": "{name: models, mountPath: /models}",
            "volume": "{name: models, persistentVolumeClaim: {claimName: m, readOnly: true}}",
        },
        {
            "mounts": "{name: models, mountPath: /models}",
            "volume": "{name: models, configMap: {name: m}}",
        },
        {
            "env": "",
            "mounts": f"{{name: models, mountPath: {OF_ROOT}/huggingface, readOnly: true}}",
        },
        {"env": "{name: HF_HOME, value: /models}, {name: HF_HUB_OFFLINE, value: '0'}"},
        ROOT,
        {**ROOT, "env": "{name: HF_HOME, value: /hf}"},
        TGI,
    ],
)
def test_a_cache_that_nobody_can_write_to(given: dict[str, str]) -> None:
    assert len(found(**given)) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"args": "--model=/models/a"},
        {"args": "--model=./a/b"},
        {"args": "--model=a"},
        {"args": "--model=a/b/c"},
        {"args": "--port=80"},
        {"mounts": "{name: models, mountPath: /models}"},
        {"mounts": "{name: models, mountPath: /model, readOnly: true}"},
        {"mounts": "{name: models, mountPath: /models, readOnly: $RO}"},
        {
            "mounts": "{name: models, mountPath: /, readOnly: true}, "
            "{name: models, mountPath: /models}"
        },
        {"env": "{name: HF_HOME, value: /models}, {name: HF_HUB_OFFLINE, value: '1'}"},
        {"env": "{name: HF_HOME, value: /models}, {name: TRANSFORMERS_OFFLINE, value: 'true'}"},
        {"env": "{name: HF_HOME, value: $HOME}"},
        {"env": "{name: HOME, value: /models}"},
        {"given": "envFrom: [{configMapRef: {name: a}}]"},
        {"limit": "cpu: 1"},
        {"image": "own:1"},
        {"kind": "ServingRuntime"},
        {**ROOT, "context": "securityContext: {readOnlyRootFilesystem: false}"},
        {**ROOT, "mounts": f"{{name: models, mountPath: {OF_ROOT}}}"},
    ],
)
def test_a_cache_that_may_be_written_to(given: dict[str, str]) -> None:
    assert found(**given) == []


HOME = {"env": "", "mounts": "{name: models, mountPath: /.cache}"}
USER = "securityContext: {runAsUser: 1000800000}"


@pytest.mark.parametrize(
    ("given", "folder"),
    [
        ({**HOME, "security": USER}, "/.triton"),
        ({**HOME, "context": USER}, "/.triton"),
        ({**HOME, "context": "securityContext: {runAsUser: 1001}"}, "/.triton"),
        ({**HOME, "security": USER, "mounts": "{name: models, mountPath: /.triton}"}, "/.cache"),
        (
            {**HOME, "security": USER, "env": "{name: TRITON_HOME, value: /a}", "mounts": ""},
            "/.cache",
        ),
        ({**HOME, "security": USER, "env": "{name: VLLM_CACHE_ROOT, value: /a}"}, "/.triton"),
    ],
)
def test_a_user_without_a_name_has_no_home(given: dict[str, str], folder: str) -> None:
    assert [folder in each for each in found(**given)] == [True]


@pytest.mark.parametrize(
    "given",
    [
        HOME,
        {**HOME, "security": "securityContext: {runAsUser: 1000}"},
        {**HOME, "security": "securityContext: {runAsUser: 2000}"},
        {**HOME, "security": "securityContext: {runAsUser: 0}"},
        {**HOME, "security": USER, "context": "securityContext: {runAsUser: 0}"},
        {**HOME, "security": USER, "image": "own/vllm:1"},
        {**HOME, "security": USER, "image": "lmsysorg/sglang:v0.4"},
        {**HOME, "security": USER, "env": "{name: HOME, value: /tmp}"},
        {**HOME, "security": USER, "env": "{name: TRITON_CACHE_DIR, value: /tmp}"},
        {
            **HOME,
            "security": USER,
            "mounts": "{name: models, mountPath: /.cache}, {name: models, mountPath: /.triton}",
        },
        {**HOME, "security": USER, "mounts": "{name: models, mountPath: /}"},
        {**HOME, "security": USER, "limit": "cpu: 1"},
    ],
)
def test_a_user_with_a_home_or_with_folders_of_his_own(given: dict[str, str]) -> None:
    assert found(**given) == []
