"""The expression language: grammar, types, checking, compilation, cost."""
