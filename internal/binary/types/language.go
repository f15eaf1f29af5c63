package types

import (
	"slices"
	"strings"
)

// Language is a source language, as far as names, types and code are made in its own way.
type Language uint8

// Languages.
const (
	UnknownLanguage Language = iota
	C
	CPlusPlus
	Rust
	Go
	OtherLanguage // known to the debug info, not to us: shown as C
	DotNet        // C# and others that .NET runs
	Assembler     // of which debug information knows lines, and neither parameters nor results
	languages
)

// traits are what languages differ in. Who needs to know asks for a trait, so that another language is another row.
type traits struct {
	name   string
	style  style
	scopes bool // see HasScopes
	whole  bool // see WholeNames
	throws bool // see Throws
	ownABI bool // see OwnABI
	manage bool // see Managed
	blank  string
	closed []string // see Closed
	parks  string   // see Parking
}

// style is how declarations are written.
type style uint8

const (
	typeFirst style = iota // int n
	nameFirst              // n int
	nameColon              // n: i32
)

var languageTraits = [languages]traits{
	UnknownLanguage: {name: "unknown", scopes: true, throws: true},
	C:               {name: "C"},
	CPlusPlus:       {name: "C++", scopes: true, throws: true, closed: []string{"std::", "__gnu_cxx::", "_"}},
	Rust: {
		name: "Rust", style: nameColon, scopes: true, throws: true,
		closed: []string{"core::", "alloc::", "std::", "hashbrown::", "&", "*", "dyn "},
	},
	Go: {
		name: "Go", style: nameFirst, whole: true, ownABI: true, manage: true, blank: "_",
		closed: []string{"time.", "sync.", "atomic.", "unique."},
		parks:  "runtime.semacquire1", // runtime/sema.go, Go 1.5 to 1.26
	},
	OtherLanguage: {name: "other", scopes: true, throws: true},
	DotNet:        {name: ".NET", scopes: true, throws: true, ownABI: true},
	Assembler:     {name: "assembler", throws: true},
}

func (l Language) traits() *traits {
	if l >= languages {
		l = UnknownLanguage
	}
	return &languageTraits[l]
}

func (l Language) String() string { return l.traits().name }

// HasScopes tells whether names of the language are qualified by namespaces and types ("::").
func (l Language) HasScopes() bool { return l.traits().scopes }

// WholeNames tells whether debug information has names with all that qualifies them.
func (l Language) WholeNames() bool { return l.traits().whole }

// Throws tells whether exceptions or panics may pass the functions of the language on a way that is not their return.
func (l Language) Throws() bool { return l.traits().throws }

// OwnABI tells whether arguments and results are where a convention of the language's own says, in code of a compiler
// of its own: neither C's convention holds for it, nor what is known of the debug information of GCC and LLVM.
func (l Language) OwnABI() bool { return l.traits().ownABI }

// Managed tells whether a runtime manages the language's memory: a pointer is nil or leads to a whole value of its
// type.
func (l Language) Managed() bool { return l.traits().manage }

// Shared tells a type that stands for those of several instances of generic code, which it does not tell apart.
func (t *Type) Shared() bool { return strings.HasPrefix(t.Name, "go.shape.") }

// Blank tells the name of members that nothing can be in.
func (l Language) Blank(name string) bool { return name != "" && name == l.traits().blank }

// Closed tells, by its name, a structure of the language or its library that is not for others to take apart: its
// members mean nothing without each other.
func (l Language) Closed(name string) bool {
	return slices.ContainsFunc(l.traits().closed, func(begin string) bool { return strings.HasPrefix(name, begin) })
}

// Parking are the functions of languages' runtimes, of those that schedule by themselves, in which what waits for a
// lock does so without a thread that waits in the kernel. The first argument is the word that it waits for.
func Parking() (names []string) {
	for _, l := range languageTraits {
		if l.parks != "" {
			names = append(names, l.parks)
		}
	}
	return names
}
