"""The steps that user memory is taken through in any order, and a model of what must come out of them."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from hypothesis import strategies as st

WRITER = "writer"
KEYS = ("a", "b")
AGENTS = ("", WRITER)
PLACES = ("name", "role", "attributes/a", "attributes/b")
ERASED = "<erased>"

Held = tuple[str, str]  # a key, and the agent whose value it is; "" for the general one


@dataclass(frozen=True)
class Step:
    """One request. `what` is a key and an agent, or places of the profile; `back` counts versions from the newest."""

    verb: str
    held: Held = ("", "")
    places: Mapping[str, bool] = field(default_factory=dict)
    back: int = 0


_HELD = st.tuples(st.sampled_from(KEYS), st.sampled_from(AGENTS))
_BACK = st.integers(0, 4)
STEPS = st.one_of(
    st.builds(Step, st.just("put"), _HELD),
    st.builds(Step, st.sampled_from(("put", "delete")), _HELD),
    st.builds(Step, st.just("roll back"), _HELD, back=_BACK),
    # True puts a value there, False takes it away.
    st.builds(
        Step,
        st.just("patch"),
        places=st.dictionaries(st.sampled_from(PLACES), st.booleans(), min_size=1, max_size=3),
    ),
    st.builds(Step, st.just("erase"), places=st.sampled_from(PLACES).map(lambda place: {place: False})),
    st.builds(Step, st.just("roll profile back"), back=_BACK),
)


@dataclass
class Preference:
    """The versions of a preference: the change that made each, and its value; None for a deletion."""

    versions: list[tuple[int, object]] = field(default_factory=list)

    def at(self, number: int) -> tuple[int, object]:
        """Return the version, 0 for none yet, and its value after a change."""
        then = [value for change, value in self.versions if change <= number]
        return (len(then), then[-1]) if then else (0, None)


@dataclass
class Memory:
    """One user's memory, as it must be after the steps that were taken."""

    changes: int = 0
    preferences: dict[Held, Preference] = field(default_factory=dict)
    # Of each version of the profile: the change, and what stands at each place.
    profile: list[tuple[int, dict[str, object]]] = field(default_factory=list)

    def take(self, step: Step, values: Iterator[str]) -> int:
        """Take a step that is bound to the newest version; return the status that the service must answer."""
        if step.held[0]:
            return self._take_preference(step, values)
        newest = dict(self.profile[-1][1]) if self.profile else {}
        match step.verb:
            case "patch":
                for place, is_put in step.places.items():
                    if is_put:
                        newest[place] = next(values)
                    elif newest.get(place) != ERASED:
                        newest.pop(place, None)
            case "erase":
                (place,) = step.places
                if all(facts.get(place, ERASED) == ERASED for _, facts in self.profile):
                    return 404
                for _, facts in self.profile:
                    if place in facts:
                        facts[place] = ERASED
                newest[place] = ERASED
            case _:
                earlier = max(len(self.profile) - step.back, 0)
                newest = dict(self.profile[earlier - 1][1]) if earlier else {}
        self.changes += 1
        self.profile.append((self.changes, newest))
        return 204 if step.verb == "erase" else 200

    def _take_preference(self, step: Step, values: Iterator[str]) -> int:
        held = self.preferences.setdefault(step.held, Preference())
        version, newest = held.at(self.changes)
        said: object = None
        match step.verb:
            case "put":
                said, status = next(values), 200 if newest is not None else 201
            case "delete":
                if newest is None:
                    return 404
                held.versions = [(change, old and ERASED) for change, old in held.versions]
                status = 204
            case _:
                if not version:
                    return 404
                said, status = held.versions[max(version - step.back, 1) - 1][1], 200
                if said in (None, ERASED):
                    return 409
        self.changes += 1
        held.versions.append((self.changes, said))
        return status

    def profile_at(self, number: int) -> tuple[int, dict[str, object]]:
        """Return the version of the profile after a change, 0 for none yet, and what stands at each place."""
        then = [facts for change, facts in self.profile if change <= number]
        return (len(then), then[-1]) if then else (0, {})

    def in_force_at(self, number: int, agent: str) -> dict[str, tuple[str, int, object]]:
        """Return whose value of each key is in force for an agent after a change, its version, and the value."""
        found: dict[str, tuple[str, int, object]] = {}
        for (key, owner), preference in sorted(self.preferences.items()):
            version, value = preference.at(number)
            if value is not None and owner in {"", agent}:
                found[key] = (owner, version, value)
        return found
