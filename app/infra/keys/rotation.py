"""Rotation of the master key: every wrapped key is wrapped anew, in small steps, while the service serves."""

from app.infra.crypto.master import MasterKeys
from app.infra.keys.store import KeyStore, Wrapped
from app.infra.keys.vault import data_key_name, index_secret_name, secret_name

BATCH = 500


async def rewrap_all(store: KeyStore, masters: MasterKeys) -> int:
    """Wrap every key that another than the current master key wrapped; return how many. May be interrupted and run
    again.

    Raises MasterKeyError where a master key is missing that wrapped one of them.
    """
    done = 0
    for name, wrapped in await store.secrets_not_under(masters.current):
        done += await store.replace_secret(name, wrapped, _anew(masters, wrapped, secret_name(name)))
    while keys := await store.data_keys_not_under(masters.current, BATCH):
        for usr, version, wrapped in keys:
            done += await store.replace_data_key(
                usr, version, wrapped, _anew(masters, wrapped, data_key_name(usr, version))
            )
    while secrets := await store.index_secrets_not_under(masters.current, BATCH):
        for usr, wrapped in secrets:
            done += await store.replace_index_secret(usr, wrapped, _anew(masters, wrapped, index_secret_name(usr)))
    return done


def _anew(masters: MasterKeys, wrapped: Wrapped, name: bytes) -> Wrapped:
    return Wrapped(*masters.rewrap(wrapped.value, wrapped.master_id, name))
