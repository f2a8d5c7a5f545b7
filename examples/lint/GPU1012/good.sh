#!/bin/bash
# The label is the node group's own.
eksctl create nodegroup --cluster ml --name gpu --node-type g6.xlarge --node-labels team=vision
