package check

import (
	"fmt"

	"trocar/internal/binary/types"
)

// conversions finds the conversions of a printf format: what is between % and the end of one, in order. A % that begins
// no conversion is plain text, and %% is one percent sign.
func conversions(format string) []string {
	var convs []string
	for i := 0; i < len(format); i++ {
		if format[i] != '%' {
			continue
		}
		conv, end := conversion(format, i+1)
		if end < 0 {
			continue
		}
		if conv != "%" {
			convs = append(convs, conv)
		}
		i = end - 1
	}
	return convs
}

// conversion reads one conversion behind its %; end is -1 if there is none.
func conversion(f string, i int) (conv string, end int) {
	skip := func(c byte) {
		if i < len(f) && f[i] == c {
			i++
		}
	}
	number := func() {
		if i < len(f) && f[i] == '*' {
			i++
			return
		}
		for i < len(f) && f[i] >= '0' && f[i] <= '9' {
			i++
		}
	}
	for _, flag := range []byte("-+ #0") {
		skip(flag)
	}
	number()
	if i+1 < len(f) && f[i] == '.' && (f[i+1] == '*' || f[i+1] >= '0' && f[i+1] <= '9') {
		i++
		number()
	}
	for i < len(f) && isOneOf(f[i], "hlLjzt") {
		i++
	}
	switch {
	case i >= len(f):
		return "", -1
	case isOneOf(f[i], "diouxXeEfFGaAcspn%"):
		return f[i : i+1], i + 1
	case i+1 < len(f) && (f[i:i+2] == "gr" || f[i:i+2] == "rh" || f[i:i+2] == "rx"):
		return f[i : i+2], i + 2
	case f[i] == 'g' || f[i] == 'r':
		return f[i : i+1], i + 1
	}
	return "", -1
}

func isOneOf(c byte, set string) bool {
	for i := 0; i < len(set); i++ {
		if set[i] == c {
			return true
		}
	}
	return false
}

// checkFormat tells what is wrong with a format for arguments of the types; empty: nothing.
func checkFormat(format string, args []*types.Type) string {
	convs := conversions(format)
	switch {
	case len(args) < len(convs):
		return fmt.Sprintf("not enough arguments for format string (%d supplied, %d expected)", len(args), len(convs))
	case len(args) > len(convs):
		return fmt.Sprintf("too many arguments for format string (%d supplied, %d expected)", len(args), len(convs))
	}
	for i, conv := range convs {
		t := args[i]
		if t == nil || t.Kind == types.None || t.Kind == types.Void {
			return "unable to print none type for specifier: " + conv
		}
		ok := false
		switch conv {
		case "d", "i", "u", "o", "x", "X", "c", "p", "gr":
			ok = isInt(t) || t.Kind == types.Bool || t.Kind == types.Pointer || t.IsCastableAgg()
		case "r", "rx", "rh":
			ok = t.Kind == types.Buffer
		case "s":
			ok = true
		case "e", "E", "f", "F", "g", "G", "a", "A":
			ok = t.Kind == types.Float
			if !ok {
				return "unsupported format specifier: " + conv
			}
		default:
			return "unsupported format specifier: " + conv
		}
		if !ok {
			return fmt.Sprintf("unsupported format specifier for type '%s': %s", typestr(t), conv)
		}
	}
	return ""
}
