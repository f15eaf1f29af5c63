package flame

import (
	"fmt"
	"path/filepath"
	"slices"
	"strconv"
	"strings"

	"trocar/result"
)

// AppendBlocks appends the stacks with the bytes and the blocks of memory of each, the largest first.
func (p *Profile) AppendBlocks(dst []byte, top int) []byte {
	return p.appendSums(dst, top, "blocks", func(dst []byte, n uint64) []byte { return appendNumber(dst, n, "bytes") })
}

// AppendWaits appends the stacks with the time and the number of waits of each, the longest first.
func (p *Profile) AppendWaits(dst []byte, top int) []byte {
	return p.appendSums(dst, top, "waits", result.AppendDuration)
}

// appendSums appends the top stacks with what was added up for them, and how many numbers that were.
func (p *Profile) appendSums(dst []byte, top int, parts string, sum func([]byte, uint64) []byte) []byte {
	if top == 0 {
		top = DefaultTop
	}
	stacks := p.merged(slices.Clone(p.Samples))
	all := uint64(0)
	for i := range stacks {
		all += stacks[i].Parts
	}
	dst = appendNumber(append(sum(dst, p.Total()), " in "...), all, parts)
	dst = append(appendNumber(append(dst, ", "...), uint64(len(stacks)), "stacks"), '\n')
	for _, s := range stacks[:min(top, len(stacks))] {
		dst = appendNumber(append(sum(append(dst, '\n'), s.Count), " in "...), s.Parts, parts)
		for _, r := range s.Roots {
			dst = result.AppendShownLine(append(dst, "  "...), r)
		}
		dst = append(dst, '\n')
		for i := range s.Frames {
			dst = appendFrame(append(dst, "        "...), s.Frames[i])
		}
		if len(s.Frames) == 0 {
			dst = append(dst, "        "+noStack+"\n"...)
		}
	}
	if n := len(stacks) - top; n > 0 {
		dst = append(appendNumber(append(dst, "\nand "...), uint64(n), "more stacks"), '\n')
	}
	return dst
}

// appendFrame appends the function of a frame with its line, or its file.
func appendFrame(dst []byte, f *result.Frame) []byte {
	dst = result.AppendShownLine(dst, Name(f))
	switch {
	case f.File != "" && f.Line > 0:
		dst = fmt.Appendf(result.AppendShownLine(append(dst, "  "...), filepath.Base(f.File)), ":%d", f.Line)
	case Kernel(f):
		dst = append(dst, "  [kernel]"...)
	case f.Symbol != "" && f.Module != "":
		dst = result.AppendShownLine(append(dst, "  "...), filepath.Base(f.Module))
	}
	return append(dst, '\n')
}

// appendNumber appends how many there are of what is named in the plural.
func appendNumber(dst []byte, n uint64, of string) []byte {
	dst = append(strconv.AppendUint(dst, n, 10), ' ')
	if n == 1 {
		of = strings.TrimSuffix(of, "s")
	}
	return append(dst, of...)
}
