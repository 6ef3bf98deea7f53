"""Reports of audits and of upgrades, each as one HTML page that needs nothing else."""
