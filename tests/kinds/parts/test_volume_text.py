"""What a refusal shows of two sources of a volume."""

from __future__ import annotations

from simkit.kinds.parts.volume_text import source_difference


def test_another_type() -> None:
    """A type that goes and one that comes stand on one line each."""
    old, new = {"local": {"path": "/a"}}, {"csi": {"driver": "d", "volumeHandle": "h", "volumeAttributes": {"b": "c"}}}
    assert source_difference(old, new) == (
        "  core.PersistentVolumeSource{\n  \t... // 17 identical fields\n"
        "  \tPortworxVolume: nil,\n  \tScaleIO:        nil,\n"
        '- \tLocal:          &{Path: "/a"},\n+ \tLocal:          nil,\n  \tStorageOS:      nil,\n'
        "- \tCSI:            nil,\n"
        '+ \tCSI:            &{Driver: "d", VolumeHandle: "h", VolumeAttributes: {"b": "c"}},\n  }\n'
    )


def test_another_handle() -> None:
    """Inside of one type only what is near the change is shown."""
    old, new = ({"csi": {"driver": "d", "volumeHandle": handle, "fsType": "ext4"}} for handle in "ab")
    shown = source_difference(old, new)
    assert shown.endswith(
        '  \tCSI: &core.CSIPersistentVolumeSource{\n  \t\tDriver:       "d",\n- \t\tVolumeHandle: "a",\n'
        '+ \t\tVolumeHandle: "b",\n  \t\tReadOnly:     false,\n  \t\tFSType:       "ext4",\n'
        "  \t\t... // 6 identical fields\n  \t},\n  }\n"
    )
