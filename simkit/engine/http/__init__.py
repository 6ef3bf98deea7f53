"""The HTTP floor: from bytes to a request and back. It holds the only asynchronous code."""
