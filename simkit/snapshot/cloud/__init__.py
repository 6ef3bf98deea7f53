"""The exports of cloud providers: what their command lines tell of the access to one managed cluster."""
