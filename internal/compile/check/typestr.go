package check

import (
	"strconv"
	"strings"

	"trocar/internal/binary/types"
)

// typestr is the name of a type in messages, in typeinfo().full_type and in dumps: bpftrace's spelling.
func typestr(t *types.Type) string {
	if t == nil {
		return "none"
	}
	switch t.Kind {
	case types.None, types.Func:
		return "void"
	case types.Int:
		if t.Name == "char" {
			return "int8"
		}
		if t.Signed {
			return "int" + strconv.Itoa(8*t.Size)
		}
		return "uint" + strconv.Itoa(8*t.Size)
	case types.Enum:
		if strings.HasPrefix(t.Name, "enum ") {
			return t.Name
		}
		return "enum " + t.Name
	case types.Pointer:
		return typestr(t.Elem) + " *"
	case types.Array:
		if t.Len < 0 {
			return typestr(t.Elem) + "[0]"
		}
		if t.IsText() {
			return "string[" + strconv.Itoa(t.Len+1) + "]"
		}
		return typestr(t.Elem) + "[" + strconv.Itoa(t.Len) + "]"
	case types.String:
		if t.Size == 0 {
			return "string"
		}
		return "string[" + strconv.Itoa(t.Size) + "]"
	case types.Buffer:
		return "buffer[" + strconv.Itoa(t.Size) + "]"
	case types.Inet:
		return "inet[24]"
	case types.Struct, types.Union:
		if t.Name != "" {
			return t.Name
		}
		kind := "struct"
		if t.Kind == types.Union {
			kind = "union"
		}
		return kind + " {" + fieldTypes(t, ",") + "}"
	case types.Tuple:
		return "(" + fieldTypes(t, ",") + ")"
	case types.Record:
		var b strings.Builder
		b.WriteString("record { ")
		for i, f := range t.Fields {
			if i > 0 {
				b.WriteString(", ")
			}
			b.WriteString("." + f.Name + " = " + typestr(f.Type))
		}
		b.WriteString(" }")
		return b.String()
	case types.UStack, types.KStack:
		prefix := "ustack_"
		if t.Kind == types.KStack {
			prefix = "kstack_"
		}
		return prefix + stackModeName(t.Mode) + "_" + strconv.Itoa(t.Depth)
	case types.Sum, types.Min, types.Max, types.Avg, types.Stats:
		if !t.Signed {
			return "u" + t.Name
		}
		return t.Name
	}
	if t.Name != "" {
		return t.Name
	}
	return t.String()
}

func fieldTypes(t *types.Type, sep string) string {
	var b strings.Builder
	for i, f := range t.Fields {
		if i > 0 {
			b.WriteString(sep)
		}
		b.WriteString(typestr(f.Type))
	}
	return b.String()
}

// kindstr is the name of a type without its parameters: typeinfo().base_type, and in messages.
func kindstr(t *types.Type) string {
	if t == nil {
		return "none"
	}
	switch t.Kind {
	case types.None, types.Void:
		return "void"
	case types.Bool:
		return "bool"
	case types.Int, types.Enum:
		return "int"
	case types.Pointer:
		return "pointer"
	case types.Array:
		if t.IsText() {
			return "string"
		}
		return "array"
	case types.Struct, types.Union, types.Func, types.Float:
		return "c_type"
	case types.String:
		return "string"
	case types.Buffer:
		return "buffer"
	case types.Tuple:
		return "tuple"
	case types.Record:
		return "record"
	case types.UStack:
		return "ustack"
	case types.KStack:
		return "kstack"
	case types.Inet:
		return "inet"
	}
	return t.Name
}

func stackModeName(m types.StackMode) string {
	switch m {
	case types.StackPerf:
		return "perf"
	case types.StackRaw:
		return "raw"
	case types.StackBuildID:
		return "build_id"
	}
	return "bpftrace"
}

func parseStackMode(s string) (types.StackMode, bool) {
	switch s {
	case "bpftrace":
		return types.StackBpftrace, true
	case "perf":
		return types.StackPerf, true
	case "raw":
		return types.StackRaw, true
	case "build_id":
		return types.StackBuildID, true
	}
	return 0, false
}
