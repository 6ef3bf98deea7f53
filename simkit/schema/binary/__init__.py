"""Protobuf form of built-in kinds, built from the field numbers in ``datasets``."""

from simkit.schema.binary.envelope import decode, encode, has_binary_form, watch_frame

__all__ = ["decode", "encode", "has_binary_form", "watch_frame"]
