#!/bin/sh
kubectl run smi --rm -it --restart=Never --image=nvidia/cuda:13.1.1-base-ubuntu24.04 --overrides='
{"spec": {"containers": [{"name": "smi", "image": "nvidia/cuda:13.1.1-base-ubuntu24.04", "command": ["nvidia-smi"],
  "resources": {"limits": {"nvidia.com/gpu.shared": 1}}}]}}'
