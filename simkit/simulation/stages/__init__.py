"""Stages in the form of KWOK: data that says how objects, such as pods and nodes, change as time passes."""
