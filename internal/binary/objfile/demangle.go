package objfile

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxMangled bounds what is given to the demangler: its work can grow with the square of the length.
const maxMangled = 8 << 10

// IsMangled tells cheaply whether a name looks like C++ or Rust mangling.
func IsMangled(name string) bool {
	return len(name) > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == '_' && (name[2] == 'Z' || name[2] == 'R'))
}

// Demangle gives the name as in the source, with parameters for C++; Rust's hash is left out. Names that are not mangled
// come back as they are.
func Demangle(name string) string { return demangled(name, false) }

// demangled gives the readable name, bare without the parameter list and return type of C++.
func demangled(name string, bare bool) string {
	if !IsMangled(name) || len(name) > maxMangled {
		return name
	}
	if name[1] == '_' {
		name = name[1:] // some systems put one more underscore in front
	}
	opts := make([]demangle.Option, 0, 4)
	opts = append(opts, demangle.LLVMStyle, demangle.MaxLength(16))
	if bare {
		opts = append(opts, demangle.NoParams)
	}
	// A GCC or LLVM clone carries a suffix (".isra.0", ".llvm.123"); it stays visible, since it is another function.
	s, err := demangle.ToString(name, opts...)
	if err != nil {
		base, suffix, ok := strings.Cut(name, ".")
		if !ok {
			return name
		}
		if s, err = demangle.ToString(base, opts...); err != nil {
			return name
		}
		s += " [." + suffix + "]"
	}
	return s
}
