helm upgrade --install gpu-operator nvidia/gpu-operator --version v26.7.0 -n gpu-operator -f values.yaml
