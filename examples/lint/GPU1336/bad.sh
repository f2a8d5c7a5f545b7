#!/bin/bash
helm repo add nvdp https://nvidia.github.io/k8s-device-plugin
helm upgrade -i nvdp nvdp/k8s-device-plugin --namespace nvidia --create-namespace --version 0.17.4
