"""Restore masked values that a person edited, and mask edited values again, using the original value."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from approvals.text.secrets import LENGTHS, MARK, Hidden, masks_in

#: The hidden value behind each `Hidden` of a masked value, by its handle.
TrueValues = Mapping[tuple[str, bool], Any]


class StillHidden(ValueError):
    """A submitted value contains a mask in a place where nothing is hidden."""


def true_values(value: Any, shown: Any) -> dict[tuple[str, bool], Any]:
    """Return the true values behind all masks in `shown`, the masked form of `value`."""
    return {hidden.handle: true for hidden, true in _hidden_pairs(value, shown)}


def _hidden_pairs(value: Any, shown: Any) -> Iterator[tuple[Hidden, Any]]:
    if value is shown:
        return
    match shown:
        case Hidden():
            yield shown, value
        case dict():
            for (name, item), (shown_name, shown_item) in zip(
                value.items(), shown.items(), strict=True
            ):
                yield from _hidden_pairs(name, shown_name)
                yield from _hidden_pairs(item, shown_item)
        case list():
            for item, shown_item in zip(value, shown, strict=True):
                yield from _hidden_pairs(item, shown_item)


def _parts(value: Any, shown: Hidden) -> Sequence[tuple[str, Any]]:
    """Return the masks in the display of a value, each with its hidden text, in order."""
    again, parts = masks_in(value) if isinstance(value, str) else ("", ())
    return parts if parts and again == shown else [(str(shown), value)]


def with_true_values(sent: Any, known: TrueValues) -> Any:
    """Return a value with masks replaced by `known` values. Raise StillHidden for an unknown mask."""
    match sent:
        case Hidden():
            if sent.handle not in known:
                raise StillHidden
            return known[sent.handle]
        case dict():
            return {
                with_true_values(name, known): with_true_values(item, known)
                for name, item in sent.items()
            }
        case list():
            return [with_true_values(item, known) for item in sent]
        case _:
            return sent


def restored(sent: Any, value: Any, shown: Any) -> Any:
    """Return an edit by a person who saw `shown` of `value`, with each mask replaced by the hidden value of its own place.

    Raise StillHidden for a mask anywhere else: people who may not read a secret must not move it.
    """
    return _restored(sent, value, shown, true_values(value, shown))


def _restored(sent: Any, value: Any, shown: Any, known: TrueValues) -> Any:
    match sent:
        case Hidden():
            return with_true_values(sent, known)
        case str() if isinstance(shown, Hidden) and sent == shown:
            return value
        case str():
            for mask, secret in (
                _parts(value, shown) if isinstance(shown, Hidden) else ()
            ):
                sent = sent.replace(mask, str(secret), 1)
            if MARK in sent and MARK not in str(value):
                raise StillHidden
            return sent
        case dict():
            names, items = _members_of(value, shown)
            members = {}
            for name, item in sent.items():
                true_name, shown_name = names.get(name, (name, name))
                true, shown_item = items.get(name, (None, None))
                members[_restored(name, true_name, shown_name, known)] = _restored(
                    item, true, shown_item, known
                )
            return members
        case list():
            values, masks = _items_of(value, shown, len(sent))
            return [
                _restored(*each, known)
                for each in zip(sent, values, masks, strict=True)
            ]
        case _:
            return sent


def _members_of(
    value: Any, shown: Any
) -> tuple[Mapping[str, tuple[str, str]], Mapping[str, tuple[Any, Any]]]:
    """Return the names and values of an object's members, each with its display, by displayed name."""
    if not isinstance(shown, dict):
        return {}, {}
    names = {
        shown_name: (name, shown_name)
        for name, shown_name in zip(value, shown, strict=True)
    }
    return names, {
        shown_name: (value[name], shown[shown_name])
        for name, shown_name in names.values()
    }


def _items_of(
    value: Any, shown: Any, number: int
) -> tuple[Sequence[Any], Sequence[Any]]:
    """Return `number` items of a list with their display; None in place of missing ones."""
    values, masks = (value, shown) if isinstance(shown, list) else ([], [])
    missing = [None] * max(number - len(values), 0)
    return [*values[:number], *missing], [*masks[:number], *missing]


def concealed(edited: Any, value: Any, shown: Any) -> Any:
    """Mask in an edited value everything that is hidden in `shown` of `value`, wherever it occurs.

    Text written by others stays unchanged.
    """
    every = [
        part
        for hidden, true in _hidden_pairs(value, shown)
        for part in _parts(true, hidden)
    ]
    return _concealed(edited, value, shown, every) if every else edited


def _concealed(
    edited: Any, value: Any, shown: Any, every: Sequence[tuple[str, Any]]
) -> Any:
    match edited:
        case _ if isinstance(shown, Hidden) and edited == value:
            return shown
        case dict():
            names, items = _members_of(value, shown)
            known = {
                name: (shown_name, *items[shown_name])
                for name, shown_name in names.values()
            }
            members = {}
            for name, item in edited.items():
                shown_name, true, shown_item = known.get(name, (name, None, None))
                members[shown_name] = _concealed(item, true, shown_item, every)
            return members
        case list():
            values, masks = _items_of(value, shown, len(edited))
            return [
                _concealed(*each, every)
                for each in zip(edited, values, masks, strict=True)
            ]
        case str():
            for mask, secret in every:
                if edited == secret or (
                    isinstance(secret, str) and len(secret) >= LENGTHS[0]
                ):
                    edited = edited.replace(secret, mask)
            return edited
        case _:
            return edited
