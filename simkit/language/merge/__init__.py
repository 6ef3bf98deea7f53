"""What a patch or an applied intent means: patches, field sets, field ownership."""
