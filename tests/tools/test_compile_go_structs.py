"""The Go structs of pod templates are read from their declarations."""

from __future__ import annotations

from tools.compile_go_structs import reachable, structs

SOURCE = """
// A is a struct.
type A struct {
	metav1.ObjectMeta `json:"metadata,omitempty" protobuf:"bytes,1,opt,name=metadata"`
	// Mode is a string.
	Mode Mode `json:"mode,omitempty" protobuf:"bytes,3,opt,name=mode,casttype=Mode"`
	// Embedded stands among the fields.
	B    `json:",inline" protobuf:"bytes,2,opt,name=b"`
	List []*C `json:"list" protobuf:"bytes,4,rep,name=list"`
}

type Mode string

type B struct {
	Number *int32 `json:"number,omitempty"`
}

type C struct {
	Labels map[string]string `json:"labels,omitempty"`
}

type D struct{}
"""


def test_fields_stand_in_the_order_of_their_declaration() -> None:
    """Name in JSON (empty for an embedded struct), name in Go, and type."""
    found, strings = structs(SOURCE)
    assert strings == {"Mode"}
    assert found["A"] == [
        ["metadata", "ObjectMeta", "ObjectMeta"],
        ["mode", "Mode", "Mode"],
        ["", "B", "B"],
        ["list", "List", "[]*C"],
    ]
    assert found["B"] == [["number", "Number", "*int32"]]


def test_only_structs_that_the_root_contains_are_kept() -> None:
    """Through lists, pointers and embedding."""
    found, _ = structs(SOURCE)
    assert list(reachable(found, "A")) == ["A", "B", "C"]
