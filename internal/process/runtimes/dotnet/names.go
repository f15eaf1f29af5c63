package dotnet

import (
	"strconv"
	"strings"
)

// readable makes of a name in a perf map,
//
//	bool [System.Private.CoreLib] System.Collections.Generic.List`1[System.Int32]::Remove(!0)[OptimizedTier1]
//
// the one that methods compiled ahead of time have here: "System.Collections.Generic.List<int>::Remove(!0)".
func readable(name string) (text string, ok bool) {
	text, _, ok = noted(name)
	return text, ok
}

// noted is readable, with the assembly.
func noted(name string) (text, assembly string, ok bool) {
	name, tier, ok := cutTier(name)
	if !ok || tier == "" {
		return "", "", false
	}
	// The type of the result may have blanks and brackets; the assembly's name stands alone.
	_, rest, ok := strings.Cut(name, " [")
	for ok {
		assembly, rest, ok = strings.Cut(rest, "] ")
		if !ok {
			return "", "", false
		}
		if !strings.ContainsAny(assembly, "[]() ") {
			break
		}
		_, rest, ok = strings.Cut(assembly+"] "+rest, " [")
	}
	if !ok {
		return "", "", false
	}
	// Parameters begin behind the last "::".
	i := strings.LastIndex(rest, "::")
	if i < 0 {
		return "", "", false
	}
	method, params, ok := strings.Cut(rest[i+2:], "(")
	if !ok {
		return "", "", false
	}
	text = typeText(rest[:i], true) + "::" + method + "(" + paramTexts(strings.TrimSuffix(params, ")")) + ")"
	return text, assembly, true
}

// cutTier takes off how the method was compiled.
func cutTier(name string) (method, tier string, ok bool) {
	if !strings.HasSuffix(name, "]") {
		return "", "", false
	}
	i := strings.LastIndexByte(name, '[')
	if i < 1 || name[i-1] != ')' {
		return "", "", false
	}
	return name[:i], name[i+1 : len(name)-1], true
}

// paramTexts are the types of parameters without namespaces.
func paramTexts(s string) string {
	var out []string
	for _, p := range split(s) {
		out = append(out, typeText(p, false))
	}
	return strings.Join(out, ",")
}

// split takes a list apart at the commas that are in no brackets.
func split(s string) (parts []string) {
	depth, from := 0, 0
	for i := 0; i < len(s); i++ {
		switch s[i] {
		case '<', '[', '(':
			depth++
		case '>', ']', ')':
			depth--
		case ',':
			if depth <= 0 {
				parts = append(parts, s[from:i])
				from = i + 1
			}
		}
	}
	if from < len(s) || len(parts) > 0 {
		parts = append(parts, s[from:])
	}
	return parts
}

// plain are C#'s names of the types that have some, by those of signatures and of the library.
var plain = map[string]string{
	"int8": "sbyte", "uint8": "byte", "unsigned int8": "byte", "int16": "short", "uint16": "ushort",
	"unsigned int16": "ushort", "int32": "int", "uint32": "uint", "unsigned int32": "uint", "int64": "long",
	"uint64": "ulong", "unsigned int64": "ulong", "float32": "float", "float64": "double", "native int": "nint",
	"native uint": "nuint", "native unsigned int": "nuint", "typedref": "TypedReference",
	"System.SByte": "sbyte", "System.Byte": "byte", "System.Int16": "short", "System.UInt16": "ushort",
	"System.Int32": "int", "System.UInt32": "uint", "System.Int64": "long", "System.UInt64": "ulong",
	"System.Single": "float", "System.Double": "double", "System.IntPtr": "nint", "System.UIntPtr": "nuint",
	"System.Boolean": "bool", "System.Char": "char", "System.String": "string", "System.Object": "object",
	"System.Void": "void",
}

// maxNesting bounds types within types.
const maxNesting = 32

// typeText is a type as C# has it, with its namespace or without.
func typeText(s string, space bool) string { return typeIn(s, space, maxNesting) }

func typeIn(s string, space bool, depth int) string {
	s = strings.TrimSpace(s)
	for _, word := range []string{"class ", "valuetype ", "value class "} {
		s = strings.TrimPrefix(s, word)
	}
	if assembly, name, ok := strings.Cut(s, "]"); ok && strings.HasPrefix(assembly, "[") {
		s = name
	}
	if depth == 0 {
		return s
	}
	// What stands behind: references, pointers, arrays.
	end := len(s)
	for end > 0 {
		last, open := s[end-1], strings.LastIndexByte(s[:end], '[')
		if last == '&' || last == '*' {
			end--
		} else if last == ']' && open > 0 && strings.Trim(s[open+1:end-1], ",") == "" {
			end = open
		} else {
			break
		}
	}
	s, behind := s[:end], s[end:]
	if name, ok := plain[s]; ok && !space {
		return name + behind
	}
	// Arguments stand at the end, for all types that are within one another.
	var args []string
	if i := max(strings.IndexByte(s, '`'), 0); strings.ContainsAny(s[len(s)-min(len(s), 1):], ">]") && s[i] == '`' {
		if j := strings.IndexAny(s[i:], "<["); j > 0 {
			args = split(s[i+j+1 : len(s)-1])
			s = s[:i+j]
		}
	}
	if !space {
		outer, rest, nested := strings.Cut(s, "+")
		outer = outer[strings.LastIndexByte(outer, '.')+1:]
		if s = outer; nested {
			s += "+" + rest
		}
	}
	var out strings.Builder
	for i, part := range strings.Split(strings.ReplaceAll(s, "/", "+"), "+") {
		if i > 0 {
			out.WriteByte('+')
		}
		name, arity, _ := strings.Cut(part, "`")
		out.WriteString(name)
		n, err := strconv.Atoi(arity)
		if err != nil || n <= 0 || n > len(args) {
			continue
		}
		out.WriteByte('<')
		for j, a := range args[:n] {
			if j > 0 {
				out.WriteByte(',')
			}
			out.WriteString(typeIn(a, false, depth-1))
		}
		out.WriteByte('>')
		args = args[n:]
	}
	out.WriteString(behind)
	return out.String()
}
