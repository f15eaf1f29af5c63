package check

// rule says how one type follows from others.
type rule struct {
	out    *slot
	in     []*slot
	f      func(in []ty) ty
	queued bool
}

// solver propagates types along rules until nothing changes: a work list, first in, first out, beginning with what is
// known from the start in the order of the script. Types only ever grow (see promote), so it ends; and the order is
// bpftrace's (its type_resolution.md), because where signs mix the result depends on it.
type solver struct {
	// enter, if set, gives a function that brings back the state in which a rule was made, to be called before the rule.
	enter func() func()
	seeds []*slot
	work  []*rule
	steps int
}

// set makes a type known from the start.
func (s *solver) set(to *slot, t ty) {
	if t.none() {
		return
	}
	to.ty = t
	s.seeds = append(s.seeds, to)
}

func (s *solver) rule(out *slot, f func(in []ty) ty, in ...*slot) {
	if s.enter != nil {
		back, inner := s.enter(), f
		f = func(in []ty) ty { back(); return inner(in) }
	}
	r := &rule{out: out, in: in, f: f}
	for _, i := range in {
		i.deps = append(i.deps, r)
	}
}

// pass makes a type the same as another.
func (s *solver) pass(from, to *slot) {
	s.rule(to, func(in []ty) ty { return in[0] }, from)
}

func (s *solver) enqueue(of *slot) {
	for _, r := range of.deps {
		if !r.queued {
			r.queued = true
			s.work = append(s.work, r)
		}
	}
}

// maxSteps bounds the work on one script. Each rule can fire once per growth of a type, and an integer grows four times
// at most, a string once per literal: far below this for anything that people write.
const maxSteps = 1 << 22

// solve reports false if it gave up.
func (s *solver) solve() bool {
	for _, seed := range s.seeds {
		s.enqueue(seed)
	}
	var in []ty
	head := 0
	for head < len(s.work) {
		if s.steps++; s.steps > maxSteps {
			return false
		}
		r := s.work[head]
		r.queued = false
		if head++; head > 4096 && head > len(s.work)/2 {
			s.work = append(s.work[:0], s.work[head:]...)
			head = 0
		}
		in = in[:0]
		for _, i := range r.in {
			if i.ty.none() {
				break
			}
			in = append(in, i.ty)
		}
		if len(in) < len(r.in) {
			continue
		}
		if res := r.f(in); !res.none() && r.out.update(res) {
			s.enqueue(r.out)
		}
	}
	s.work = s.work[:0]
	return true
}

// update takes a new type for a slot and tells whether it changed.
func (s *slot) update(res ty) bool {
	cur := s.ty
	if cur.none() || !same(cur.t, res.t) {
		s.ty = res
		return true
	}
	if cur.flex() && !res.flex() {
		// A literal's sign becomes fixed.
	} else {
		res.t = joinSpaces(cur.t, res.t)
	}
	if !res.isPtr() {
		res.space = joinSpace(cur.space, res.space)
	}
	if res.t == cur.t && res.space == cur.space && res.clock == cur.clock {
		return false
	}
	s.ty = res
	return true
}
