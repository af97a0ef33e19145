"""What a user lets be done with what they say."""

from dataclasses import dataclass

from app.core.errors import AppError


@dataclass(frozen=True, slots=True)
class Processing:
    """The user's choices: whether anything new is kept, whether anything is inferred, whether models outside are shown
    anything. All of it is allowed until the user says otherwise.
    """

    remember: bool = True
    infer: bool = True
    external_models: bool = True


def stopped(choice: str) -> AppError:
    """Return the refusal of what the user has switched off."""
    return AppError("processing_stopped", f"{choice} is switched off", processing=choice)


def is_stopped(error: BaseException | None) -> bool:
    """Say whether something wasn't done because the user has switched it off."""
    return isinstance(error, AppError) and error.code == "processing_stopped"
