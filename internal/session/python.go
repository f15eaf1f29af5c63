package session

import (
	"encoding/binary"
	"path"
	"strings"

	"trocar/internal/compile/record"
	"trocar/internal/process/symbolize"
	"trocar/result"
)

// Both mean the same bit.
var _ = [1]struct{}{}[symbolize.Interpreted^record.PythonFrame]

// pythonFrame names a frame of Python in a stack (record.PythonFrame): MODULE.FUNCTION, with the place in the source.
func (n *resolver) pythonFrame(frame uint64) result.Frame {
	at := frame & (1<<record.PythonIndexShift - 1)
	code, ok := n.pythons[at]
	if !ok && n.stacks.maps != nil {
		value := make([]byte, record.PythonCodeSize)
		if n.stacks.maps.Get(record.PythonCodes, binary.LittleEndian.AppendUint64(nil, at), value) == nil {
			code = record.PythonCodeOf(value)
			n.pythons[at] = code
		}
	}
	if code.Name == "" {
		return result.Frame{Symbol: "[a Python function]"}
	}
	index := frame >> record.PythonIndexShift & record.PythonMostIndex
	f := result.Frame{Symbol: code.Name, Module: code.File, File: code.File, Line: code.LineOf(int(index))}
	if module := moduleOf(code.File); module != "" {
		f.Symbol = module + "." + code.Name
	}
	return f
}

// moduleOf is the module that a file has: that of a package is called as its folder.
func moduleOf(file string) string {
	if file == "" {
		return ""
	}
	name := strings.TrimSuffix(path.Base(file), ".py")
	if name == "__init__" {
		name = path.Base(path.Dir(file))
	}
	if frozen, is := strings.CutPrefix(file, "<frozen "); is {
		return strings.TrimSuffix(frozen, ">")
	}
	return name
}
