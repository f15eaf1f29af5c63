package record

import "trocar/result"

// Loss is something that a program counts when it goes wrong.
type Loss struct {
	Kind   LossKind
	At     result.Position // of what is counted
	Action int
	Map    int // LostUpdates: index of its Storage
	Helper string
	By     string // LeftCalls: what leaves calls there; "": as in C
	Open   string // OpenCalls: the map of them; "": they are counted
}

// LossKind is what was lost.
type LossKind uint8

// Losses.
const (
	LostRecords   LossKind = iota // the ring was full
	LostScratch                   // no scratch buffer was free
	LostUpdates                   // a map was full
	LostReads                     // memory could not be read
	LostStacks                    // there was no room for the frames of one more
	LostLoops                     // a loop ran into the kernel's limit
	LostBegins                    // calls that had begun before, of which the result's place is not known
	LostCalls                     // too many calls were open to time one more
	LostReturns                   // too many calls were nested for the kernel's return probes
	LeftCalls                     // calls that did not return, as is seen by another one in their frame
	OpenCalls                     // calls that had not returned at the end
	GuessedStacks                 // walks by tables that went on by the frame pointer, where no table is
	BrokenStacks                  // walks by tables that ended where a caller was not found
	KeptStacks                    // no loss: different call stacks that were kept
	LostNames                     // there was no room for the names of more functions that are interpreted
	LostFloats                    // floating-point registers were not stored, as the thread was not switched off
	lossKinds
)

// LossKinds are all that there are.
func LossKinds() (all []LossKind) {
	for k := range lossKinds {
		all = append(all, k)
	}
	return all
}
