"""A report on a fitted classifier: one HTML file that opens offline in any browser and prints well.

`write_report` gathers the numbers on labelled rows and writes the file; `gather` gives the numbers
alone and `render` the page. The page loads nothing from anywhere. Needs jinja2.
"""

from .gathering import gather
from .numbers import ReportNumbers
from .rendering import render, write_report

__all__ = ["ReportNumbers", "gather", "render", "write_report"]
