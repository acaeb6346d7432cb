"""Speed and memory, measured: `make bench`, or `python -m benchmarks [NAME …]`."""
