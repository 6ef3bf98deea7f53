"""The documentation site: pages of docs, notebooks that are executed, and pages made of tables, parsers and docstrings.

``python -m tools.site`` puts the sources together in build/site-source and the site into build/site.
"""
