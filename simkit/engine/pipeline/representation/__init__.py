"""Objects as bytes: negotiation, request bodies, responses, tables and protobuf."""
