"""A plain-text table for the terminal."""

from collections.abc import Sequence


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], *, right: Sequence[str] = ()) -> str:
    """The rows under their heads; the columns named in `right` are aligned to the right."""
    columns = list(zip(heads, *rows, strict=True))
    widths = [max(map(len, column)) for column in columns]
    padded = [
        [cell.rjust(width) if head in right else cell.ljust(width) for cell in column]
        for head, width, column in zip(heads, widths, columns, strict=True)
    ]
    first, *rest = zip(*padded, strict=True)
    rule = ["-" * width for width in widths]
    return "\n".join("  " + "  ".join(line).rstrip() for line in (first, rule, *rest))
