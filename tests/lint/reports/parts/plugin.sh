helm upgrade --install nvdp nvdp/nvidia-device-plugin --version 0.20.0 \
  --namespace nvidia-device-plugin --create-namespace --values plugin-values.yaml
