package probe

// Refusal says why something cannot be probed or known, and what can be done instead.
type Refusal struct {
	Reason string // the cause, as the end of a sentence
	Way    string // the way out; "": there is none
}

func (r *Refusal) Error() string { return r.Reason }
