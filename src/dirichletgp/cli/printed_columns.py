"""What columns were taken for, as a table in the terminal."""

from collections.abc import Sequence

from .console import in_markup

_MOST_COLUMNS = 60


def print_columns(described: Sequence[tuple[str, str]], title: str) -> None:
    """Print the names of columns and what each was taken for; of very many, the first."""
    from rich.console import Console
    from rich.table import Table

    table = Table(title=title, title_justify="left", title_style="bold", box=None)
    table.add_column("column")
    table.add_column("taken as")
    for name, words in described[:_MOST_COLUMNS]:
        style = "dim" if words.startswith("not used") else None
        table.add_row(in_markup(name), in_markup(words), style=style)
    hidden = len(described) - _MOST_COLUMNS
    if hidden > 0:
        table.add_row(f"... {hidden} more", "")
    Console().print(table)
