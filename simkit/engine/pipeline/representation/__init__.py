"""Objects as bytes: negotiation, the bodies of requests, responses, tables and protobuf."""
