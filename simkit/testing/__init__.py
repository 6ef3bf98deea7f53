"""A pytest plugin and in-process transports for the tests of other projects."""
