package trocar

import "trocar/internal/process/match"

// Wait is a function that tells, in the stack of a thread or task that waits, what it waits for.
type Wait struct {
	// Function is its name; with a "*" at one end, those of several.
	Function string
	// Kind is "mutex", "rwlock", "monitor", "GIL", "internal lock", "wait group" and what else there may be.
	Kind string
	// Own: it is part of a lock of a runtime's own, which is made of what other functions tell.
	Own bool
}

// Waits are the functions of languages' runtimes that tell what is waited for in the stacks of QuestionLocks. Those of
// C libraries, such as pthread_mutex_lock, are not among them.
func Waits() (list []Wait) {
	for _, r := range match.Runtimes() {
		for _, w := range r.Waits {
			list = append(list, Wait(w))
		}
	}
	return list
}
