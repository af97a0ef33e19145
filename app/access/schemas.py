"""Access on the wire."""

from typing import Annotated, Self

from pydantic import Field, model_validator

from app.web.wire import Answer, Moment, Request, wrong

MAX_SUB_CHARS = 255


class LookupRequest(Request):
    """A user as the issuer of tokens names them. It is looked up by a keyed hash, and written down nowhere."""

    takes_secrets = True
    sub: Annotated[str, Field(min_length=1, max_length=MAX_SUB_CHARS)]


class LookupAnswer(Answer):
    """The random reference that stands for the user."""

    user_id: str


class RevocationRequest(Request):
    """One token by its `jti`, or all of a user's that were issued up to a time. A `jti` is kept as a keyed hash."""

    takes_secrets = True
    jti: Annotated[str, Field(min_length=1, max_length=MAX_SUB_CHARS)] | None = None
    user_id: str | None = None
    issued_before: Moment | None = None

    @model_validator(mode="after")
    def _one_of_both(self) -> Self:
        by_user = self.user_id is not None and self.issued_before is not None
        half = (self.user_id is None) != (self.issued_before is None)
        if half or by_user == (self.jti is not None):
            raise wrong("must name jti, or user_id and issued_before")
        return self
