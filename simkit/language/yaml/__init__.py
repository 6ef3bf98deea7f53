"""YAML as kube-apiserver and its clients read and write it (sigs.k8s.io/yaml): JSON types only."""
