"""Writes docs/openapi.json."""

import sys

from api_document.document import PATH, text


def main() -> None:
    """Write the document and say where."""
    PATH.write_text(text(), "utf-8")
    sys.stdout.write(f"{PATH}\n")


if __name__ == "__main__":
    main()
