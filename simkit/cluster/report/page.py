"""The page around a report: its style, its head, its list of sections."""

from __future__ import annotations

import re
from collections.abc import Sequence
from html import escape
from string import Template
from typing import Final

_STYLE: Final = """
:root { --ink: #1f2328; --soft: #59636e; --line: #d8dee4; --band: #f6f8fa; --link: #0072b2; }
* { box-sizing: border-box; }
body { margin: 0; color: var(--ink); background: #fff; font: 16px/1.55 system-ui, "Segoe UI", Roboto, sans-serif; }
nav { position: fixed; inset: 0 auto 0 0; width: 15rem; padding: 2rem 1.2rem; overflow-y: auto;
      border-right: 1px solid var(--line); background: var(--band); font-size: .9rem; }
nav a { display: block; padding: .25rem 0; color: var(--ink); text-decoration: none; }
nav a:hover, nav a:focus { color: var(--link); text-decoration: underline; }
main { margin-left: 15rem; padding: 2rem 3rem 6rem; max-width: 86rem; }
main p, main ul { max-width: 46rem; }
h1 { font-size: 2rem; line-height: 1.2; margin: 0 0 .2rem; }
h2 { font-size: 1.35rem; margin: 2.6rem 0 .6rem; padding-top: 1rem; border-top: 1px solid var(--line); }
.subtitle { color: var(--soft); margin: 0 0 1.5rem; }
a { color: var(--link); }
.anchor-link { display: none; }
pre, code { font-family: ui-monospace, "SF Mono", Menlo, Consolas, monospace; font-size: .85rem; }
pre { background: var(--band); padding: .8rem 1rem; overflow-x: auto; border-radius: 6px; white-space: pre-wrap; }
.jp-OutputArea-output, .output_html { overflow-x: auto; }
table { border-collapse: collapse; border: 0; font-size: .85rem; margin: .6rem 0 1rem; }
th, td { text-align: left !important; vertical-align: top !important; padding: .35rem .7rem; border: 0;
         border-bottom: 1px solid var(--line); }
tbody th { color: var(--soft); font-weight: normal; }
.severity { color: #fff; border-radius: 4px; padding: .05rem .45rem; white-space: nowrap; }
.critical { background: #7f2704; } .high { background: #b34700; } .medium { background: #8a6100; }
.low { background: #00658f; } .info { background: #59636e; }
thead th { position: sticky; top: 0; background: #fff; border-bottom: 2px solid var(--ink); white-space: nowrap; }
tbody tr:nth-child(even) { background: var(--band); }
img { max-width: 100%; height: auto; }
@media (max-width: 60rem) { nav { position: static; width: auto; border: 0; } main { margin: 0; padding: 1.2rem; } }
@media print { nav { display: none; } main { margin: 0; padding: 0; max-width: none; } thead th { position: static; } }
"""

_SEVERITY: Final = re.compile(r"<td>(critical|high|medium|low|info)</td>")
_PAGE: Final = Template("""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>$title</title>
<style>$style</style>
</head>
<body>
<nav aria-label="Sections">
$links
</nav>
<main>
<p class="subtitle">$subtitle</p>
$body
</main>
</body>
</html>
""")


def page(body: str, headings: Sequence[str], subtitle: str = "", *, title: str = "Audit of access control") -> str:
    """A whole page around the body of a report, with links to its headings at the side.

    Examples
    --------
    >>> '<a href="#What-there-is">What there is</a>' in page("", ["What there is"])
    True
    """
    links = "\n".join(f'<a href="#{anchor(heading)}">{escape(heading)}</a>' for heading in headings)
    return _PAGE.substitute(title=escape(title), style=_STYLE, links=links, subtitle=escape(subtitle), body=body)


def marked(body: str) -> str:
    """The body with severities in tables as coloured marks.

    Examples
    --------
    >>> marked("<td>high</td><td>highest</td>")
    '<td><span class="severity high">high</span></td><td>highest</td>'
    """
    return _SEVERITY.sub(r'<td><span class="severity \1">\1</span></td>', body)


def anchor(heading: str) -> str:
    """The id that a heading gets in the body."""
    return escape(heading.replace(" ", "-"), quote=True)
