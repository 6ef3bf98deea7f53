"""Connections that change their protocol: WebSockets and SPDY/3.1, as kubectl and client libraries speak them."""
