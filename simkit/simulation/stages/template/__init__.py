"""Templates in the language of Go's text/template, as stages hold them: syntax, evaluation and functions."""
