package kernel

import (
	"errors"
	"os"
	"strconv"
	"strings"

	"github.com/cilium/ebpf"
)

// PossibleCPUs is how many CPUs the machine may have while it runs: the number of values of a per-CPU map.
func PossibleCPUs() int { return possibleCPUs() }

// possibleCPUs is how many values an entry of a per-CPU map has.
func possibleCPUs() int {
	n, err := ebpf.PossibleCPU()
	if err != nil {
		return 1
	}
	return n
}

// onlineCPUs lists the CPUs that run now.
func onlineCPUs() ([]int, error) {
	text, err := os.ReadFile("/sys/devices/system/cpu/online")
	if err != nil {
		return nil, err
	}
	cpus, err := parseCPUs(string(text))
	if err == nil && len(cpus) == 0 {
		err = errors.New("no CPU is online")
	}
	return cpus, err
}

// parseCPUs reads a list like "0-3,8".
func parseCPUs(text string) ([]int, error) {
	var cpus []int
	for part := range strings.SplitSeq(strings.TrimSpace(text), ",") {
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		if !isRange {
			last = first
		}
		a, err := strconv.ParseUint(first, 10, 16)
		if err != nil {
			return nil, err
		}
		b, err := strconv.ParseUint(last, 10, 16)
		if err != nil {
			return nil, err
		}
		for i := a; i <= b; i++ {
			cpus = append(cpus, int(i))
		}
	}
	return cpus, nil
}
