package objfile

import (
	"strings"

	"github.com/ianlancetaylor/demangle"
)

// maxMangled bounds what is given to the demangler: its work can grow with the square of the length.
const maxMangled = 8 << 10

// IsMangled tells cheaply whether a name looks like C++ or Rust mangling.
func IsMangled(name string) bool {
	return len(name) > 2 && name[0] == '_' && (name[1] == 'Z' || name[1] == 'R' || name[1] == '_' &&
		(name[2] == 'Z' || name[2] == 'R'))
}

// Demangle gives the name as in the source, with parameters for C++; Rust's hash is left out. Names that are not
// mangled come back as they are.
func Demangle(name string) string { return demangled(name, false) }

// DemangleBare is Demangle without the parameter list and return type of C++.
func DemangleBare(name string) string { return demangled(name, true) }

// style is a way to write a readable name.
type style int

const (
	llvmStyle style = iota // main::'lambda'(int)::operator()(int) const
	gnuStyle               // main::{lambda(int)#1}::operator()(int) const
)

// demangled gives the readable name, bare without the parameter list and return type of C++.
func demangled(name string, bare bool) string { return demangledAs(llvmStyle, name, bare) }

func demangledAs(as style, name string, bare bool) string {
	if !IsMangled(name) || len(name) > maxMangled {
		return name
	}
	if name[1] == '_' {
		name = name[1:] // some systems put one more underscore in front
	}
	opts := make([]demangle.Option, 0, 4)
	opts = append(opts, demangle.MaxLength(14))
	if as == llvmStyle {
		opts = append(opts, demangle.LLVMStyle)
	}
	if bare {
		opts = append(opts, demangle.NoParams)
	}
	// A GCC or LLVM clone carries a suffix (".isra.0", ".llvm.123"); it stays visible, since it is another function.
	suffix := cloneSuffix(name)
	s, err := demangle.ToString(name[:len(name)-len(suffix)], opts...)
	if err != nil {
		return name
	}
	if suffix != "" && !strings.HasPrefix(suffix, ".llvm.") {
		if does := Coroutine(name); does != "" {
			suffix = does
		}
		s += " [" + suffix + "]"
	}
	return s
}

// cloneSuffix is what a compiler put behind a mangled name to name a copy or a part of the function: ".isra.0",
// ".cold". In Rust's older mangling dots also stand for "::".
func cloneSuffix(name string) string {
	i := strings.IndexByte(name, '.')
	if i < 0 {
		return ""
	}
	if Coroutine(name) != "" {
		return name[strings.LastIndexByte(name, '.'):] // GCC has one in the type of a coroutine's frame, too
	}
	if j := strings.LastIndex(name, "17h"); j > 0 && strings.HasPrefix(name, "_ZN") && len(name) >= j+20 &&
		name[j+19] == 'E' {
		return name[j+20:]
	}
	return name[i:]
}

// ParamCount is the number of parameters that a function's mangled C++ name lists, without those that the compiler adds
// and without "...". False: the name doesn't say.
func ParamCount(name string) (n int, ok bool) {
	// A pack ("Dp") stands for as many as it has, which is not always told.
	if !strings.HasPrefix(name, "_Z") || len(name) > maxMangled || strings.Contains(name, "Dp") {
		return 0, false
	}
	ast, err := demangle.ToAST(name, demangle.LLVMStyle, demangle.MaxLength(14))
	if err != nil {
		return 0, false
	}
	if c, is := ast.(*demangle.Clone); is {
		ast = c.Base
	}
	typed, ok := ast.(*demangle.Typed)
	if !ok {
		return 0, false
	}
	typ := typed.Type
	for {
		q, is := typ.(*demangle.MethodWithQualifiers)
		if !is {
			break
		}
		typ = q.Method
	}
	fn, ok := typ.(*demangle.FunctionType)
	if !ok {
		return 0, false
	}
	for _, a := range fn.Args {
		switch a := a.(type) {
		case *demangle.BuiltinType:
			if a.Name == "..." || a.Name == "void" {
				continue
			}
			n++
		default:
			n++
		}
	}
	return n, true
}
