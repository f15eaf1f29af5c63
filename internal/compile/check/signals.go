package check

import (
	"strings"
)

// signals by number, as on every Linux machine that we run on.
var signals = []string{
	"", "HUP", "INT", "QUIT", "ILL", "TRAP", "ABRT", "BUS", "FPE", "KILL", "USR1", "SEGV", "USR2", "PIPE", "ALRM", "TERM",
	"STKFLT",
	"CHLD", "CONT", "STOP", "TSTP", "TTIN", "TTOU", "URG", "XCPU", "XFSZ", "VTALRM", "PROF", "WINCH", "IO", "PWR", "SYS",
}

// signalNumber finds a signal by name, with or without SIG.
func signalNumber(name string) (int, bool) {
	name = strings.TrimPrefix(name, "SIG")
	switch name {
	case "":
		return 0, false
	case "IOT":
		name = "ABRT"
	case "POLL":
		name = "IO"
	case "CLD":
		name = "CHLD"
	}
	for i, s := range signals {
		if s == name {
			return i, true
		}
	}
	return 0, false
}
