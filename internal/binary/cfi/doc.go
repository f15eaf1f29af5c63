// Package cfi reads call frame information: how the caller's frame is found from any instruction of a program. It
// stands in .eh_frame, which stripped files have as well, or in .debug_frame, which is all that Go writes.
//
//	row, err := cfi.Open(file).At(0x401136)
//	// the canonical frame address is row.CFA.Reg plus row.CFA.Offset
//
// One address is found by the table of .eh_frame_hdr without reading the rest. Files are not trusted: instructions are
// bounded, and what is damaged is reported as an error or left out.
package cfi
