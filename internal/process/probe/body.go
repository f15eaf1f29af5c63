package probe

// Body is the code of a method of a runtime, as it is at a time.
type Body struct {
	Point *Point
	Addr  uint64 // in the process; 0: there is none
	State string // what is to be said of it
	Final bool   // it is not made anew while it can be used
	Gone  bool   // there will be none any more
	Idle  bool   // it is not needed now: the method returns at fewer places than it did, or all calls are interpreted
	// Inlined are the methods that have it in their own code, Kept how a start prevents it, Unknown why that is not known.
	Inlined []string
	Kept    string
	Unknown error
}
