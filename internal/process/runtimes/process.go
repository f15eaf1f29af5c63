package runtimes

// Process is a runtime at work in a process. Its methods are not called concurrently.
type Process interface {
	About() About
	// Names has the runtime write the names of the code that it has made to the perf map of the process, anew each time;
	// it does nothing where the runtime does that by itself, or cannot. It takes two seconds at most. An error says why
	// names are missing.
	Names() error
	// Close takes back what Names has left.
	Close() error
}

// About is what is to be said of a runtime in a process.
type About struct {
	Version string // "": it is not known
	// Has is what can be had of it as it was started, Lacks what cannot, with the way out.
	Has, Lacks []string
	// Stacks is why call stacks lack frames or names of the runtime's functions, with the way out; "": they do not.
	Stacks string
}
