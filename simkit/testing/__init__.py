"""What tests of other projects use: a pytest plugin and in-process transports."""
