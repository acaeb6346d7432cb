"""`python -m infra.artifacts.sizes DIRECTORY`: how large each artifact in there is."""

import io
import sys
import zipfile
from pathlib import Path
from typing import NamedTuple


class Size(NamedTuple):
    """In bytes; Lambda allows 250 MB unzipped, a function and its layers together."""

    unzipped: int
    zipped: int


def size_of(artifact: Path) -> Size:
    """Return what `artifact` takes unpacked, and as SAM packs it."""
    files = [path for path in artifact.rglob("*") if path.is_file()]
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for path in files:
            archive.write(path, path.relative_to(artifact))
    return Size(sum(path.stat().st_size for path in files), packed.tell())


def show(directory: Path) -> None:
    """Print a line for each artifact in `directory`, and one for all."""
    sizes = {it.name: size_of(it) for it in sorted(directory.iterdir()) if it.is_dir()}
    sizes["together"] = Size(*map(sum, zip(*sizes.values(), strict=True)))
    width = max(map(len, sizes))
    print(f"{'artifact':{width}}  unzipped MB  zipped MB")
    for name, it in sizes.items():
        print(f"{name:{width}}  {it.unzipped / 1e6:>11.2f}  {it.zipped / 1e6:>9.2f}")


if __name__ == "__main__":
    show(Path(sys.argv[1]))
