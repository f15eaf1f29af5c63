package runtimes

import "trocar/internal/process/probe"

// Methods are those whose code a runtime makes in a process while it runs: it is in no file, and may be made anew
// elsewhere at any time. Nothing is called concurrently.
type Methods interface {
	// Find finds the methods whose name, and the types of whose parameters "(String,int)", fit. All that fit begin with
	// prefix. cut: there may be more.
	Find(prefix string, fits func(name, types string) bool) (list []Method, cut bool)
	// Ended tells that the process cannot be read any more: what was read just before may be wrong.
	Ended() bool
	Close()
}

// Method is one of them.
type Method struct {
	Name, Types string
	Overloaded  bool   // there are others of the name, with other types
	ID          uint64 // tells it from all others of the process
	Scope       *probe.Scope
	Result      *probe.Scope // where it returns
	Declared    []string     // its parameters, as the source has them
	NoCode      string       // why it never has code; "": it may have
	// Body looks where its code is now. An error says that there will be none any more.
	Body func() (Body, error)
	// Away is the first byte of its code once that is not used any more: who comes by goes to what is used instead.
	Away byte
	// Ends are the places where a piece of code returns, each once for a call: the return address is on top of the stack.
	Ends func(Body) ([]uint64, error)
	// Interpreted is where a word is that an interpreter reads once for each call that it executes, with the instruction
	// before the one at next, where the arguments are as in InterpretedScope; 0: it is not known.
	Interpreted      func() (word, next uint64)
	InterpretedScope *probe.Scope
	// Unpaired is why the return of a call cannot be told from those of others now; "": it can.
	Unpaired func() string
	// Inlined are the methods whose code has that of this one in it now, so that calls by them are not seen.
	Inlined func() ([]string, error)
	// Replaced: the compiler may have code of its own in the place of calls.
	Replaced bool
	// Kept is how the program is started so that there are none.
	Kept string
}

// Body is the code that calls of a method run.
type Body struct {
	Addr  uint64 // where they all come by, with the arguments as the scope has them; 0: there is none
	State string // what is to be said of it: "compiled (C2)"
	Final bool   // it is not made anew while it can be used
	Rank  int    // how much it seems to be called: code that is made for what is called often has more
}
