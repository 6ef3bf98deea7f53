"""The parts of the invented company's cluster that ``make_cluster`` writes down."""
