"""Protobuf messages whose JSON form is not a mapping of their fields: times, quantities, int-or-string, raw JSON."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import UTC, datetime
from typing import Any, Final

import orjson

_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)


def _moment(text: str) -> datetime:
    return datetime.fromisoformat(text.replace("Z", "+00:00"))


def _fill_time(message: Any, value: str) -> None:
    passed = _moment(value) - _EPOCH
    message.seconds, message.nanos = passed.days * 86400 + passed.seconds, 0


def _read_time(message: Any) -> str | None:
    if not message.HasField("seconds"):
        return None
    return datetime.fromtimestamp(message.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def _fill_micro_time(message: Any, value: str) -> None:
    passed = _moment(value) - _EPOCH
    message.seconds, message.nanos = passed.days * 86400 + passed.seconds, passed.microseconds * 1000


def _read_micro_time(message: Any) -> str | None:
    if not message.HasField("seconds"):
        return None
    whole = datetime.fromtimestamp(message.seconds, UTC).strftime("%Y-%m-%dT%H:%M:%S")
    return f"{whole}.{message.nanos // 1000:06d}Z"


def _fill_quantity(message: Any, value: Any) -> None:
    message.string = str(value)


def _read_quantity(message: Any) -> str:
    return str(message.string) or "0"


def _fill_int_or_string(message: Any, value: Any) -> None:
    is_text = isinstance(value, str)
    message.type = int(is_text)
    message.intVal, message.strVal = (0, value) if is_text else (int(value), "")


def _read_int_or_string(message: Any) -> int | str:
    return message.strVal if message.type == 1 else message.intVal  # type: ignore[no-any-return]


def _fill_raw(message: Any, value: Any) -> None:
    if value is not None:
        message.raw = orjson.dumps(value)


def _read_raw(message: Any) -> Any:
    return orjson.loads(message.raw) if message.raw else None


def _fill_fields(message: Any, value: Any) -> None:
    message.Raw = orjson.dumps(value)


def _read_fields(message: Any) -> Any:
    return orjson.loads(message.Raw) if message.Raw else {}


def _fill_items(message: Any, value: Any) -> None:
    message.items.extend(value)


def _read_items(message: Any) -> list[str]:
    return list(message.items)


Fill = Callable[[Any, Any], None]
Read = Callable[[Any], Any]

_META: Final = "apimachinery.pkg.apis.meta.v1"
SPECIAL: Final[Mapping[str, tuple[Fill, Read]]] = {
    f"{_META}.Time": (_fill_time, _read_time),
    f"{_META}.MicroTime": (_fill_micro_time, _read_micro_time),
    f"{_META}.FieldsV1": (_fill_fields, _read_fields),
    f"{_META}.Verbs": (_fill_items, _read_items),
    "apimachinery.pkg.api.resource.Quantity": (_fill_quantity, _read_quantity),
    "apimachinery.pkg.util.intstr.IntOrString": (_fill_int_or_string, _read_int_or_string),
    "apimachinery.pkg.runtime.RawExtension": (_fill_raw, _read_raw),
    "ExtraValue": (_fill_items, _read_items),
    "apiextensions.v1.JSON": (_fill_raw, _read_raw),
    "apiextensions.v1beta1.JSON": (_fill_raw, _read_raw),
}
"""Functions that fill a message from JSON and read JSON from it, by the end of the message's name."""


def special(full_name: str) -> tuple[Fill, Read] | None:
    """The functions of a special message; None for ordinary ones."""
    found = SPECIAL.get(full_name.rpartition(".")[2])
    if found is not None:
        return found
    return next((pair for ending, pair in SPECIAL.items() if full_name.endswith(f".{ending}")), None)
