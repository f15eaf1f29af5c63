package flame

import (
	"cmp"
	"encoding/binary"
	"fmt"
	"path/filepath"
	"slices"

	"trocar/internal/order"
	"trocar/result"
)

// function is a row of the table.
type function struct {
	name, module string
	self, total  uint64
	seen         *Sample // in which it was seen last
}

// functions are all functions with the samples in themselves and with those in what they call: a recursive one counts
// once in a stack. What has no names is put together by file.
func (p *Profile) functions() []*function {
	type key struct{ name, module string }
	all := map[key]*function{}
	of := map[*result.Frame]*function{}
	for i := range p.Samples {
		s := &p.Samples[i]
		for j, f := range s.Frames {
			fn := of[f]
			if fn == nil {
				k := key{f.Symbol, filepath.Base(f.Module)}
				if Kernel(f) {
					k.module = "[kernel]"
				} else if f.Module == "" {
					k.module = "[unknown]"
				}
				if k.name == "" {
					k.name = "[no symbol]"
				}
				if fn = all[k]; fn == nil {
					fn = &function{name: k.name, module: k.module}
					all[k] = fn
				}
				of[f] = fn
			}
			if j == 0 {
				fn.self += s.Count
			}
			if fn.seen != s {
				fn.seen = s
				fn.total += s.Count
			}
		}
		if len(s.Frames) == 0 {
			fn := all[key{noStack, ""}]
			if fn == nil {
				fn = &function{name: noStack}
				all[key{noStack, ""}] = fn
			}
			fn.self += s.Count
			fn.total += s.Count
		}
	}
	var list []*function
	for _, fn := range all {
		list = append(list, fn)
	}
	order.By(list, func(a, b *function) int {
		return cmp.Or(cmp.Compare(b.self, a.self), cmp.Compare(b.total, a.total), cmp.Compare(a.name, b.name),
			cmp.Compare(a.module, b.module))
	})
	return list
}

// DefaultTop is how many functions and stacks a table has, if it is not said.
const DefaultTop = 10

// AppendTable appends the top functions by what was counted in themselves, and the top stacks.
func (p *Profile) AppendTable(dst []byte, top int) []byte {
	if top == 0 {
		top = DefaultTop
	}
	total := p.Total()
	dst = append(appendNumber(dst, total, p.Unit), ", "...)
	dst = append(appendNumber(dst, uint64(len(p.Samples)), "stacks"), '\n')
	if total == 0 {
		return dst
	}
	list := p.functions()
	dst = append(dst, "\n  self   total  function\n"...)
	for _, f := range list[:min(top, len(list))] {
		dst = append(append(appendShare(dst, f.self, total), ' '), ' ')
		dst = append(append(appendShare(dst, f.total, total), ' '), ' ')
		dst = result.AppendShownLine(dst, f.name)
		if f.module != "" {
			dst = result.AppendShownLine(append(dst, "  "...), f.module)
		}
		dst = append(dst, '\n')
	}
	if n := len(list) - top; n > 0 {
		dst = append(appendNumber(append(dst, "and "...), uint64(n), "more functions"), '\n')
	}
	stacks := slices.Clone(p.Samples)
	order.By(stacks, func(a, b Sample) int { return cmp.Compare(b.Count, a.Count) })
	stacks = p.merged(stacks)
	for _, s := range stacks[:min(top, len(stacks))] {
		dst = append(dst, '\n')
		dst = appendShare(dst, s.Count, total)
		for _, r := range s.Roots {
			dst = result.AppendShownLine(append(dst, "  "...), r)
		}
		dst = append(dst, '\n')
		for i := range s.Frames {
			f := s.Frames[i]
			dst = append(dst, "        "...)
			dst = append(result.AppendShownLine(dst, Name(f)), '\n')
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

// merged puts stacks of the same functions together, whatever lines of them they were in; of sums, of the same lines.
func (p *Profile) merged(samples []Sample) []Sample {
	at, texts := map[string]int{}, map[string]uint32{}
	frames := map[*result.Frame]uint32{} // numbers of texts
	var out []Sample
	var key []byte
	number := func(text string) uint32 {
		n, ok := texts[text]
		if !ok {
			n = uint32(len(texts))
			texts[text] = n
		}
		return n
	}
	for _, s := range samples {
		key = key[:0]
		for _, r := range s.Roots {
			key = binary.LittleEndian.AppendUint32(key, number(r))
		}
		for _, f := range s.Frames {
			n, ok := frames[f]
			if !ok {
				text := Name(f)
				if Kernel(f) {
					text += kernelMark
				}
				if s.Parts > 0 {
					text = fmt.Sprintf("%q %q:%d", text, f.File, f.Line)
				}
				n = number(text)
				frames[f] = n
			}
			key = binary.LittleEndian.AppendUint32(key, n)
		}
		if i, ok := at[string(key)]; ok {
			out[i].Count += s.Count
			out[i].Parts += s.Parts
			continue
		}
		at[string(key)] = len(out)
		out = append(out, s)
	}
	order.By(out, func(a, b Sample) int { return cmp.Compare(b.Count, a.Count) })
	return out
}

func appendShare(dst []byte, n, total uint64) []byte {
	return fmt.Appendf(dst, "%5.1f%%", share(n, total))
}
