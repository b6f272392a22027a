// SPDX-License-Identifier: Apache-2.0

package abi

// A view record is a head, a section table, and the sections it points to,
// each 8-aligned. It holds no address, so it can be copied as it is.
const (
	RecordKind      = 0
	RecordSizeField = 4
	RecordSections  = 8
	RecordReserved  = 12
	RecordTable     = 16 // u32 offsets, one a section; 0 is absent
)

// Kinds of records.
const (
	NodeRecord = 1
	PodRecord  = 2
)

// RecordHead is the layout of a record's head.
var RecordHead = Struct{"record_head", 16, []Field{
	{"kind", RecordKind, U32, "node 1, pod 2"},
	{"size", RecordSizeField, U32, "bytes of the record, a multiple of 8"},
	{"sections", RecordSections, U32, "entries of the section table behind this head"},
	{"reserved", RecordReserved, U32, "0"},
}}

// A list section starts with {u32 count, u32 stride}; entries follow.
const (
	ListCount   = 0
	ListStride  = 4
	ListEntries = 8
)

// ListHead is the layout of a list section's head.
var ListHead = Struct{"list_head", ListEntries, []Field{
	{"count", ListCount, U32, "number of entries"},
	{"stride", ListStride, U32, "bytes of an entry; the size in this table"},
}}

// Offsets in a pair of interned strings.
const (
	PairKey   = 0
	PairValue = 4
	PairSize  = 8
)

// PairStruct is a label.
var PairStruct = Struct{"pair", PairSize, []Field{
	{"key", PairKey, ID, ""},
	{"value", PairValue, ID, ""},
}}

// Offsets in an annotation.
const (
	AnnotationKey   = 0
	AnnotationValue = 8
	AnnotationSize  = 16
)

// AnnotationStruct is an annotation: the key interned, the value inline.
var AnnotationStruct = Struct{"annotation", AnnotationSize, []Field{
	{"key", AnnotationKey, ID, ""},
	{"value", AnnotationValue, Str, ""},
}}

// Offsets in a quantity of a resource.
const (
	QuantityName  = 0
	QuantityValue = 8
	QuantitySize  = 16
)

// QuantityStruct is an amount of a resource.
var QuantityStruct = Struct{"quantity", QuantitySize, []Field{
	{"name", QuantityName, ID, "resource name"},
	{"value", QuantityValue, S64, "cpu in millicores, every other resource in its unit"},
}}

// Offsets in an owner reference.
const (
	OwnerAPIVersion = 0
	OwnerKind       = 4
	OwnerName       = 8
	OwnerUID        = 16
	OwnerController = 24
	OwnerSize       = 32
)

// OwnerStruct is an owner reference.
var OwnerStruct = Struct{"owner", OwnerSize, []Field{
	{"api_version", OwnerAPIVersion, ID, ""},
	{"kind", OwnerKind, ID, ""},
	{"name", OwnerName, Str, ""},
	{"uid", OwnerUID, Str, ""},
	{"controller", OwnerController, U32, "1 for the managing controller"},
}}

// Offsets in a port.
const (
	PortIP        = 0
	PortProtocol  = 4
	PortHost      = 8
	PortContainer = 12
	PortSize      = 16
)

// PortStruct is a port of a container or one in use on a node.
var PortStruct = Struct{"port", PortSize, []Field{
	{"ip", PortIP, ID, "host IP; 0.0.0.0 where none was given"},
	{"protocol", PortProtocol, ID, "TCP, UDP, SCTP"},
	{"host_port", PortHost, S32, "0 is none"},
	{"container_port", PortContainer, S32, "0 on a node"},
}}

// Taint effects, in taints and tolerations. EffectAny is a toleration without
// effect.
const (
	EffectAny              = 0
	EffectNoSchedule       = 1
	EffectPreferNoSchedule = 2
	EffectNoExecute        = 3
)

// Operators of requirements and tolerations.
const (
	OpIn           = 1
	OpNotIn        = 2
	OpExists       = 3
	OpDoesNotExist = 4
	OpGt           = 5
	OpLt           = 6
	OpEqual        = 7
)

// Offsets in a requirement.
const (
	RequirementKey    = 0
	RequirementOp     = 4
	RequirementValues = 8
	RequirementSize   = 16
)

// RequirementStruct is a match expression. matchLabels are written as in with
// one value.
var RequirementStruct = Struct{"requirement", RequirementSize, []Field{
	{"key", RequirementKey, ID, "label key"},
	{"op", RequirementOp, U32, "in 1, not_in 2, exists 3, does_not_exist 4, gt 5, lt 6"},
	{"values", RequirementValues, "list<id>", ""},
}}

// Offsets in a requirement on a field.
const (
	FieldRequirementKey    = 0
	FieldRequirementOp     = 4
	FieldRequirementValues = 8
	FieldRequirementSize   = 16
)

// FieldRequirementStruct is a match expression on a field: its values, node
// names, are inline.
var FieldRequirementStruct = Struct{"field_requirement", FieldRequirementSize, []Field{
	{"key", FieldRequirementKey, ID, "metadata.name"},
	{"op", FieldRequirementOp, U32, "as in requirement"},
	{"values", FieldRequirementValues, "list<text>", ""},
}}

// TextSize is the stride of a list of inline strings.
const TextSize = 8

// TextStruct is an inline string in a list.
var TextStruct = Struct{"text", TextSize, []Field{{"text", 0, Str, ""}}}

// Offsets in a label selector.
const (
	SelectorKind         = 0
	SelectorRequirements = 8
	SelectorSize         = 16
)

// Kinds of selectors: a nil selector matches nothing, an empty one everything.
const (
	SelectorNil = 0
	SelectorSet = 1
)

// SelectorStruct is a label selector.
var SelectorStruct = Struct{"selector", SelectorSize, []Field{
	{"kind", SelectorKind, U32, "nil 0 (matches nothing), set 1 (all requirements hold; none matches everything)"},
	{"requirements", SelectorRequirements, "list<requirement>", "matchLabels by key id, then matchExpressions in their order"},
}}

// SharedStructs are the structures that both node and pod records use.
var SharedStructs = []*Struct{&RecordHead, &ListHead, &PairStruct, &AnnotationStruct, &QuantityStruct, &OwnerStruct, &PortStruct, &RequirementStruct, &FieldRequirementStruct, &TextStruct, &SelectorStruct}
