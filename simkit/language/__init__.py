"""What an expression, a patch or an applied intent means."""
