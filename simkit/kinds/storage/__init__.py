"""Classes, drivers and attachments of volumes."""
