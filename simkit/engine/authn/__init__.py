"""Authenticators: from credentials to the identity behind them."""
