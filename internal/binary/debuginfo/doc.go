// Package debuginfo reads what compilers tell about a program: DWARF 4 and 5 (and the parts of 2 and 3 that are still
// met) of GCC, clang, rustc and Go.
//
// It answers questions about one function, one address, one line or one type, and reads no more than that needs:
// sections are views of the file, units are found by .debug_aranges or their own ranges, and only the unit asked for is
// read. Questions about a name that no symbol answers, or about all functions, scan all units once.
//
//	info, err := debuginfo.New(debuginfo.Source{Code: file})
//	fn, err := info.FunctionAt(0x401136)
//	vars, err := info.Params(fn.Instance(), fn.Entry)
//
// A place that isn't known for certain at the address asked for is types.Unavailable with the reason; nothing is
// guessed. Files are not trusted: every size is checked against what is there, every recursion is bounded, and damaged
// parts are reported as errors or left out, never followed.
//
// It is more than 4,000 lines because units, abbreviations, expressions, lists and types of DWARF refer to each other
// by offsets into one set of sections: a reader of one of them needs the readers of the others.
package debuginfo
