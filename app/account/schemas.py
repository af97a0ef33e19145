"""What there is of a user, on the wire."""

from app.account.model import Account
from app.web.wire import Answer


class KindAnswer(Answer):
    """A kind of memory, and how many items there are of it."""

    kind: str
    count: int


class QuotaAnswer(Answer):
    """How much of a quota is used."""

    used: int
    limit: int


class ChoicesAnswer(Answer):
    """What the user lets be done: see `/v1/users/me/processing`."""

    remember: bool
    infer: bool
    external_models: bool


class AccountAnswer(Answer):
    """What is kept of the caller, and how much of what is allowed that takes, by the name that `quota_exceeded` tells.

    Kinds whose own routes the token may not read are left out, and so are their quotas.
    """

    kinds: list[KindAnswer]
    quotas: dict[str, QuotaAnswer]
    processing: ChoicesAnswer


def account_answer(account: Account) -> AccountAnswer:
    """Show an account."""
    limited = [each for amounts in account.amounts.values() for each in amounts if each.limit is not None]
    return AccountAnswer(
        kinds=[KindAnswer(kind=kind, count=amounts[0].used) for kind, amounts in account.amounts.items()],
        quotas={each.name: QuotaAnswer(used=each.used, limit=each.limit) for each in limited if each.limit is not None},
        processing=ChoicesAnswer.model_validate(account.processing),
    )
