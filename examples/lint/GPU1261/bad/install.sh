helm upgrade --install hub jupyterhub/jupyterhub -n hub --create-namespace -f values.yaml
