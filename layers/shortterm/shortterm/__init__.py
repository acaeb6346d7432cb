"""What the functions share.

What goes from one to another: `scope`, `work`, `notes`, `tombstone`, and its shape in `wire`. What
each of them needs: `clock`, `settings`, `telemetry` and `silence`, `database` and `iam`.
"""
