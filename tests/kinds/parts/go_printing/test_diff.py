"""Differences of two structures in refusals."""

from __future__ import annotations

from typing import Any

import pytest

from simkit.kinds.parts.go_printing.diff import difference
from tests.releases import BASE

SOURCE = "core.PersistentVolumeSource"
CONTAINER = {"terminationMessagePath": "/dev/termination-log", "terminationMessagePolicy": "File"}


def lines(kind: str, old: Any, new: Any) -> list[str]:
    return difference(BASE, kind, old, new).expandtabs(2).splitlines()


def test_another_type_of_volume() -> None:
    """A structure that goes and one that comes are told with their types."""
    source = {"driver": "d.example.com", "volumeHandle": "h", "volumeAttributes": {"b": "c"}}
    old, new = {"local": {"path": "/a"}}, {"csi": source}
    assert lines(SOURCE, old, new) == [
        "  core.PersistentVolumeSource{",
        "    ... // 17 identical fields",
        "    PortworxVolume: nil,",
        "    ScaleIO:        nil,",
        '-   Local:          &core.LocalVolumeSource{Path: "/a"},',
        "+   Local:          nil,",
        "    StorageOS:      nil,",
        "-   CSI:            nil,",
        "+   CSI: &core.CSIPersistentVolumeSource{",
        '+     Driver:           "d.example.com",',
        '+     VolumeHandle:     "h",',
        '+     VolumeAttributes: map[string]string{"b": "c"},',
        "+   },",
        "  }",
    ]


def test_another_handle() -> None:
    """Inside of one type only what is near the change is shown."""
    old, new = ({"csi": {"driver": "d", "volumeHandle": handle, "fsType": "ext4"}} for handle in "ab")
    assert lines(SOURCE, old, new)[4:] == [
        "    CSI: &core.CSIPersistentVolumeSource{",
        '      Driver:       "d",',
        '-     VolumeHandle: "a",',
        '+     VolumeHandle: "b",',
        "      ReadOnly:     false,",
        '      FSType:       "ext4",',
        "      ... // 6 identical fields",
        "    },",
        "  }",
    ]


def test_a_security_context_deep_inside() -> None:
    """As kube-apiserver said it of a pod: the change, two fields around it on each level, what is left counted."""
    old = {"securityContext": {}, "hostname": "a"}
    new = {"securityContext": {"seccompProfile": {"type": "RuntimeDefault"}}, "hostname": "a"}
    assert lines("core.PodSpec", old, new) == [
        "  core.PodSpec{",
        "    ... // 10 identical fields",
        "    AutomountServiceAccountToken: nil,",
        '    NodeName:                     "",',
        "    SecurityContext: &core.PodSecurityContext{",
        "      ... // 12 identical fields",
        "      FSGroupChangePolicy: nil,",
        "      Sysctls:             nil,",
        "-     SeccompProfile:      nil,",
        '+     SeccompProfile:      &core.SeccompProfile{Type: "RuntimeDefault"},',
        "      AppArmorProfile:     nil,",
        "    },",
        "    ImagePullSecrets: nil,",
        '    Hostname:         "a",',
        "    ... // 18 identical fields",
        "  }",
    ]


def test_containers_are_shown_one_by_one() -> None:
    """Those that did not change with their first four fields; amounts without their numbers."""
    limited = {"name": "d", "image": "i", "resources": {"limits": {"cpu": "1"}}, **CONTAINER}
    old = {"containers": [{"name": "c", "image": "i", **CONTAINER}, limited]}
    new = {"containers": [{"name": "c", "image": "i", "command": ["x"], **CONTAINER}, limited]}
    shown = lines("core.PodSpec", old, new)
    assert shown[3:] == [
        "    Containers: []core.Container{",
        "      {",
        '        Name:       "c",',
        '        Image:      "i",',
        "-       Command:    nil,",
        '+       Command:    []string{"x"},',
        "        Args:       nil,",
        '        WorkingDir: "",',
        "        ... // 19 identical fields",
        "      },",
        '      {Name: "d", Image: "i", Resources: {Limits: {s"cpu": {i: {...}, s: "1", Format: "DecimalSI"}}}, '
        'TerminationMessagePath: "/dev/termination-log", ...},',
        "    },",
        "    EphemeralContainers: nil,",
        '    RestartPolicy:       "",',
        "    ... // 28 identical fields",
        "  }",
    ]


@pytest.mark.parametrize(
    ("old", "new", "shown"),
    [
        (
            {"a": "1"},
            {"a": "2"},
            ['-   NodeSelector: map[string]string{"a": "1"},', '+   NodeSelector: map[string]string{"a": "2"},'],
        ),
        (None, {"a": "2"}, ["-   NodeSelector: nil,", '+   NodeSelector: map[string]string{"a": "2"},']),
        (
            {"a": "1"},
            {"b": "2"},
            ["    NodeSelector: map[string]string{", '-     "a": "1",', '+     "b": "2",', "    },"],
        ),
    ],
)
def test_maps(old: Any, new: Any, shown: list[str]) -> None:
    """A map with one entry is shown as a whole, one with several entry by entry."""
    found = lines("core.PodSpec", {"nodeSelector": old}, {"nodeSelector": new})
    start = next(index for index, line in enumerate(found) if "NodeSelector" in line)
    squeezed = [line.replace("NodeSelector:                ", "NodeSelector:") for line in found]
    assert squeezed[start : start + len(shown)] == shown


def test_lists_that_grow() -> None:
    """Added elements come after equal ones; probes show their handler."""
    first = {"name": "A", "value": "1"}
    old, new = (
        {"env": [first]},
        {"env": [first, {"name": "B", "value": "x\\"}], "livenessProbe": {"httpGet": {"port": "web"}}},
    )
    found = lines("core.Container", old, new)
    start = found.index("    Env: []core.EnvVar{")
    assert found[start + 1 : start + 4] == [
        '      {Name: "A", Value: "1"},',
        '+     {Name: "B", Value: `x\\`},',
        "    },",
    ]
    probe = next(line for line in found if line.startswith("+   LivenessProbe"))
    assert "&core.Probe{ProbeHandler: core.ProbeHandler{HTTPGet: &core.HTTPGetAction{" in probe or probe.endswith("{")


def test_decisions() -> None:
    """Moments are told as text, in lists of structures."""
    old = [{"type": "Approved", "status": "True", "reason": "a", "lastUpdateTime": "2024-04-17T00:00:00Z"}]
    new = [{**old[0], "reason": "b"}]
    assert lines("[]certificates.CertificateSigningRequestCondition", old, new) == [
        "  []certificates.CertificateSigningRequestCondition{",
        "    {",
        '      Type:               "Approved",',
        '      Status:             "True",',
        '-     Reason:             "a",',
        '+     Reason:             "b",',
        '      Message:            "",',
        '      LastUpdateTime:     {Time: s"2024-04-17 00:00:00 +0000 UTC"},',
        "      LastTransitionTime: {},",
        "    },",
        "  }",
    ]
