"""What can go wrong: for the reader of the terminal to mend, or in what a function answers."""


class CannotRun(Exception):
    """The stack, or a part of it, cannot run; the message is one line and says why."""


class BadAnswer(Exception):
    """A function's answer is not what API Gateway, or SQS' event source, must be given."""
