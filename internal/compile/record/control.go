package record

import "encoding/binary"

// Names of the maps that are not the script's.
const (
	RingName     = "ring"
	ScratchName  = "scratch"
	ZerosName    = "zeros"
	CountersName = "counters"
	IdleName     = "idle" // set by the reader of the ring when it goes to sleep for long: the next record wakes it
	ControlName  = "control"
	StringsName  = "strings"
	PointsName   = "points"
	GivenName    = "given" // followed by a number
	SyscallsName = "syscalls"
	StacksName   = "stacks" // the frames of call stacks, by the identity
	KeptName     = "kept"   // an array's value: identities of stacks that were kept, each at a place that it tells itself
	WaitsName    = "waits"  // for each CPU a ring buffer, of which a record has a thread of ours run there at once
	FollowName   = "follow" // a byte for each process id: not 0 if it is followed
)

// StackTail is what stands behind the frames of a stored stack: u64 time when it was first seen, u32 number of its
// frames, u32 process in which it was.
const StackTail = 16

// KeptSize is the size of that: for 1,024 identities.
const KeptSize = 16 << 10

// MostStacks is how many different call stacks have room in the programs' memory. User space takes them out before it
// is full, if it gets the time to.
const MostStacks = 1 << 16

// FollowSize is the size of the follow map: process ids are below it (PID_MAX_LIMIT in include/linux/threads.h).
const FollowSize = 4 << 20

// WaitsSize is the size of the ring buffers of the waits map: that of a page, the least there may be.
const WaitsSize = 4096

// MaxOpenCalls is how many calls may be open at once of which something is kept until they return. It bounds maps
// that the code generator makes, and those of scripts that are written for questions.
const MaxOpenCalls = 16384

// All numbers are little-endian, as on both CPUs that programs run on: what is kept of a run means the same elsewhere.

// Offsets in the value of the control map.
const (
	ControlStart = 0  // Control.Start
	ControlTAI   = 8  // Control.TAI
	ControlStop  = 16 // set by exit(): timers then do nothing any more
	ControlSize  = 24
)

// Control is what a run tells its programs before they run.
type Control struct {
	Start uint64 // the boot clock when the run began, in nanoseconds
	TAI   uint64 // TAI minus the boot clock, in nanoseconds
}

// Bytes is the value of the control map.
func (c Control) Bytes() []byte {
	b := make([]byte, ControlSize)
	binary.LittleEndian.PutUint64(b[ControlStart:], c.Start)
	binary.LittleEndian.PutUint64(b[ControlTAI:], c.TAI)
	return b
}

// IdleSize is the size of the idle map's value.
const IdleSize = 8

// Idle is the value of the idle map that makes the next record wake the reader of the ring. The program that sends it
// sets the value back to zero.
func Idle() []byte { return binary.LittleEndian.AppendUint64(nil, 1) }

// Key is the key of the only entry that our own maps have.
func Key() []byte { return make([]byte, 4) }

// CountersSize is the size of the counters map's value for the losses of a script.
func (s *Script) CountersSize() int { return 8 * len(s.Losses) }

// Counters gives the counts of the losses, in their order, from the value of the counters map.
func (s *Script) Counters(value []byte) []uint64 {
	n := make([]uint64, min(len(s.Losses), len(value)/8))
	for i := range n {
		n[i] = binary.LittleEndian.Uint64(value[8*i:])
	}
	return n
}
