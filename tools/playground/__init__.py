"""The playground: simkit on a page of a browser, with nothing to install. ``make playground`` builds it."""
