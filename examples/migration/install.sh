#!/bin/sh
# What is installed on the cluster above.
kubectl apply -f - <<'EOF'
apiVersion: v1
kind: ConfigMap
metadata: {name: shares, namespace: gpu-operator}
data:
  slices: |
    version: v1
    sharing:
      timeSlicing:
        resources: [{name: nvidia.com/gpu, replicas: 4}]
  whole: "version: v1"
EOF
helm upgrade --install gpu-operator nvidia/gpu-operator -n gpu-operator --version v26.3.0 \
  --set driver.enabled=false --set toolkit.enabled=false --set mig.strategy=mixed \
  --set devicePlugin.config.name=shares --set devicePlugin.config.default=whole
