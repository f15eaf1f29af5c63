// Package native knows what is special about code that no runtime runs, as of C, C++ and Rust: where its functions end
// (also those of other compilers, whose code is found in the same way), which of them have no return address of their
// own, whether exceptions or panics pass it, and what its values are at run time.
//
// It is no runtime in the sense of package runtimes, since it is what remains where none has code: matching decides by
// that, and asks here. What debug information says wrongly of arguments stays there too, beside the points that it
// moves.
package native
