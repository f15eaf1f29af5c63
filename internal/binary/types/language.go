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
func (t *Type) Shared() bool { return strings.HasPrefix(t.Name, sharedType) }

// sharedType begins the names of such types, of which the names of the functions that have the code are made:
// main.max[go.shape.int] (cmd/compile/internal/noder of Go 1.18 and later).
const sharedType = "go.shape."

// SharedArguments cuts the type arguments out of the name of a function whose code several instances share; ok: it is
// one.
func SharedArguments(function string) (before, behind string, ok bool) {
	i := strings.Index(function, "["+sharedType)
	if i < 0 {
		return "", "", false
	}
	j := strings.LastIndexByte(function, ']')
	if j < i {
		return "", "", false
	}
	return function[:i], function[j+1:], true
}

// Blank tells the name of members that nothing can be in.
func (l Language) Blank(name string) bool { return name != "" && name == l.traits().blank }

// Closed tells, by its name, a structure of the language or its library that is not for others to take apart: its
// members mean nothing without each other.
func (l Language) Closed(name string) bool {
	return slices.ContainsFunc(l.traits().closed, func(begin string) bool { return strings.HasPrefix(name, begin) })
}
