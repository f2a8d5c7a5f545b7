#!/bin/sh
kubectl run smi --rm -it --restart=Never --image=nvidia/cuda:13.1.1-base-ubuntu24.04 \
  --limits=nvidia.com/gpu.shared=1 -- nvidia-smi
