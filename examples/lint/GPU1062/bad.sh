#!/bin/sh
kubectl label node "$1" eks-node=gpu
