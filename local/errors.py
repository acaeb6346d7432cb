"""What can go wrong that the reader of the terminal can mend."""


class StackError(Exception):
    """The stack, or a part of it, cannot run; the message is one line and says why."""
