package cli

import (
	"os"
	"strings"

	"trocar"
)

// What depends on the environment is read here and handed on as data.

// settingPrefix begins the names of variables that are settings of scripts: BPFTRACE_MAX_STRLEN.
const settingPrefix = "BPFTRACE_"

// environmentSettings are the settings of scripts in the environment.
func environmentSettings() map[string]string {
	settings := map[string]string{}
	for _, v := range os.Environ() {
		if name, value, _ := strings.Cut(v, "="); strings.HasPrefix(name, settingPrefix) {
			settings[strings.ToLower(strings.TrimPrefix(name, settingPrefix))] = value
		}
	}
	return settings
}

// files says where files are looked for: as the environment and the flags have it.
func (s *settings) files() trocar.Files {
	return trocar.Files{
		SearchPath: os.Getenv("PATH"), Debuginfod: trocar.DebuginfodFrom(os.Getenv),
		Debug: s.debugDirs(), IncludeDirs: s.includeDirs, Includes: s.includes, TraceableFunctions: s.traceable,
	}
}
