package result

import (
	"path/filepath"
	"strconv"
)

// stackIndent is how far frames are set in, in maps and in printf alike.
const stackIndent = "        "

// appendStack appends a line break and then a line for each frame, innermost first. Compact leaves out the indentation.
func (v *Value) appendStack(dst []byte, compact bool) []byte {
	indent := stackIndent
	if compact {
		indent = ""
	}
	dst = append(dst, '\n')
	for i := range v.Frames {
		f := &v.Frames[i]
		switch v.Mode {
		case ModePerf:
			dst = append(dst, '\t')
			dst = strconv.AppendUint(dst, f.Addr, 16)
			dst = append(dst, ' ')
			dst = f.appendPerf(dst)
		case ModeRaw:
			dst = strconv.AppendUint(dst, f.Addr, 16)
		case ModeBuildID:
			dst = f.appendBuildID(dst)
		case ModeBpftrace:
			dst = append(dst, indent...)
			dst = f.appendName(dst)
		default:
			dst = append(strconv.AppendUint(append(dst, "<a stack of unknown mode "...), uint64(v.Mode), 10), '>')
		}
		dst = append(dst, '\n')
	}
	return dst
}

// String is the frame as the bpftrace mode shows it, without indentation.
func (f *Frame) String() string { return string(f.appendName(nil)) }

// appendName shows name+offset, with the source line where it is known: "main+4@/src/a.c:12". Without a name it is the
// file and the address in it, which other tools know as well: "libz.so.1+0x1bef0".
func (f *Frame) appendName(dst []byte) []byte {
	if f.Symbol == "" {
		if f.Module == "" || f.Offset == 0 {
			return appendAddr(dst, f.Addr)
		}
		dst = append(dst, filepath.Base(f.Module)...)
		return appendAddr(append(dst, '+'), f.Offset)
	}
	if f.Inlined {
		dst = append(dst, "[inlined] "...)
	}
	dst = append(dst, f.Symbol...)
	if !f.Inlined && (f.Addr != 0 || f.File == "") { // a function that is interpreted has no address
		dst = append(dst, '+')
		dst = strconv.AppendUint(dst, f.Offset, 10)
	}
	if f.File != "" {
		dst = append(dst, '@')
		dst = append(dst, f.File...)
		dst = append(dst, ':')
		dst = strconv.AppendInt(dst, int64(f.Line), 10)
	}
	return dst
}

// appendPerf shows name+offset (module), as perf script does.
func (f *Frame) appendPerf(dst []byte) []byte {
	if f.Symbol == "" {
		return append(f.appendModule(append(appendAddr(dst, f.Addr), " ("...)), ')')
	}
	dst = append(dst, f.Symbol...)
	if f.Inlined {
		return append(dst, " (inlined)"...)
	}
	dst = append(dst, '+')
	dst = strconv.AppendUint(dst, f.Offset, 10)
	return append(f.appendModule(append(dst, " ("...)), ')')
}

func (f *Frame) appendModule(dst []byte) []byte {
	if f.Module == "" {
		return append(dst, "[unknown]"...)
	}
	return append(dst, f.Module...)
}

// appendBuildID shows the build id and the offset in its file, or the bare address of code without a build id.
func (f *Frame) appendBuildID(dst []byte) []byte {
	if f.BuildID == "" {
		return strconv.AppendUint(dst, f.Addr, 16)
	}
	dst = append(dst, f.BuildID...)
	dst = append(dst, " 0x"...)
	if f.ModuleOffset < 16 {
		dst = append(dst, '0')
	}
	return strconv.AppendUint(dst, f.ModuleOffset, 16)
}
