package cli

import (
	"runtime"
	"runtime/debug"
)

const (
	// thrifty is how many per cent of garbage there may be beside what is in use, where others need the memory more …
	thrifty = 40
	// … but to collect a heap that is smaller costs more than it saves.
	leastHeap = 7 << 20
	// mostPercent: the runtime takes 4 MB of heap for the least that is in use.
	mostPercent = 100 * leastHeap / (4 << 20)
)

// saveMemory has no more garbage wait to be collected than there must be. How much there may be is found anew after
// each collection.
func saveMemory() {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	percent := thrifty
	if used := max(m.HeapAlloc, 1); used < leastHeap {
		percent = int(min(max(thrifty, (leastHeap-used)*100/used), mostPercent))
	}
	debug.SetGCPercent(percent)
	runtime.SetFinalizer(new([16]byte), func(*[16]byte) { saveMemory() })
}
