"""What can go wrong, with the messages of the command line."""


class ThrashlabError(Exception):
    """Something that thrashlab could not do; `code` is the exit code of the command line."""

    def __init__(self, message: str, code: int = 1) -> None:
        super().__init__(message)
        self.code = code


class WrongUse(ThrashlabError, ValueError):
    """The request is impossible, or an input is invalid (exit code 2)."""

    def __init__(self, message: str, code: int = 2) -> None:
        super().__init__(message, code)


class CouldNotMeasure(ThrashlabError, RuntimeError):
    """The system did not let it measure (exit code 3)."""

    def __init__(self, message: str, code: int = 3) -> None:
        super().__init__(message, code)


class FleetError(ThrashlabError):
    """What went wrong on a fleet, or was refused there, with its exit code."""

    def __init__(self, message: str, code: int = 3) -> None:
        super().__init__(message, code)
