#!/bin/sh
eksctl create nodegroup --cluster lab --name gpu --node-type g5.xlarge \
  --node-taints nvidia.com/gpu=true:NoSchedule
