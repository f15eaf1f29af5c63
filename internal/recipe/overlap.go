package recipe

import "slices"

// once drops functions that an earlier pattern of the same question fits: each call is counted once. A pattern that is
// one clause is left out as a whole, or instead of the earlier ones, if one has all that the other has; else each gives
// its functions one by one.
func once(out, fns []Function, each func() []Function) (earlier, rest []Function) {
	for i := range fns {
		fn := &fns[i]
		if fn.starts == nil {
			if !slices.ContainsFunc(out, func(o Function) bool { return o.starts[fn.start] }) {
				rest = append(rest, *fn)
			}
			continue
		}
		shared := sharedBy(out, fn)
		if shared == len(fn.starts) {
			continue
		}
		if shared > 0 {
			out = slices.DeleteFunc(out, func(o Function) bool { return fn.hasAll(o) })
			shared = sharedBy(out, fn)
		}
		if shared > 0 {
			all := slices.DeleteFunc(each(), func(f Function) bool { return f.starts != nil })
			return once(out, all, nil)
		}
		rest = append(rest, *fn)
	}
	return out, rest
}

// stands notes a function that a pattern stands for.
func (f *Function) stands(at start) {
	if at.addr == 0 {
		return // it has no place of its own
	}
	if f.starts == nil {
		f.starts = map[start]bool{}
	}
	f.starts[at] = true
}

// sharedBy counts the functions of a pattern that others have.
func sharedBy(out []Function, fn *Function) (n int) {
	for at := range fn.starts {
		if slices.ContainsFunc(out, func(o Function) bool { return o.start == at || o.starts[at] }) {
			n++
		}
	}
	return n
}

// hasAll tells whether a pattern has the functions of another, or a function.
func (f *Function) hasAll(o Function) bool {
	if o.starts == nil {
		return f.starts[o.start]
	}
	for at := range o.starts {
		if !f.starts[at] {
			return false
		}
	}
	return true
}
