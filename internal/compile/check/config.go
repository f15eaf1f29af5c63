package check

import (
	"maps"
	"slices"
	"sort"
	"strconv"
	"strings"

	"trocar/internal/binary/types"
	"trocar/internal/script/diag"
	"trocar/internal/script/syntax"
)

// setting is one name of the config block and the environment.
type setting struct {
	name string
	get  func(*Config) any // bool, int or string
	set  func(c *Config, value string) (problem string)
}

// settings lists them all, in the order of the builtin config's record.
var settings = []setting{
	boolSetting("cpp_demangle", func(c *Config) *bool { return &c.CPPDemangle }),
	boolSetting("cpp_params", func(c *Config) *bool { return &c.CPPParams }),
	boolSetting("filter_target", func(c *Config) *bool { return &c.FilterTarget }),
	boolSetting("lazy_symbolication", func(c *Config) *bool { return &c.LazySymbols }),
	boolSetting("print_maps_on_exit", func(c *Config) *bool { return &c.PrintMapsOnExit }),
	boolSetting("use_blazesym", func(c *Config) *bool { return &c.UseBlazesym }),
	boolSetting("show_debug_info", func(c *Config) *bool { return &c.ShowDebugInfo }),
	intSetting("log_size", func(c *Config) *int { return &c.LogSize }),
	boolSetting("map_histograms", func(c *Config) *bool { return &c.MapHistograms }),
	boolSetting("map_tables", func(c *Config) *bool { return &c.MapTables }),
	intSetting("max_bpf_progs", func(c *Config) *int { return &c.MaxBPFProgs }),
	intSetting("max_cat_bytes", func(c *Config) *int { return &c.MaxCatBytes }),
	intSetting("max_map_keys", func(c *Config) *int { return &c.MaxMapKeys }),
	intSetting("max_probes", func(c *Config) *int { return &c.MaxProbes }),
	intSetting("max_nested_depth", func(c *Config) *int { return &c.MaxNestedDepth }),
	intSetting("max_shown_strlen", func(c *Config) *int { return &c.MaxShownStrlen }),
	intSetting("max_strlen", func(c *Config) *int { return &c.MaxStrlen }),
	intSetting("on_stack_limit", func(c *Config) *int { return &c.OnStackLimit }),
	intSetting("perf_rb_pages", func(c *Config) *int { return &c.PerfRBPages }),
	{
		name: "str_trunc_trailer",
		get:  func(c *Config) any { return c.StrTruncTrailer },
		set:  func(c *Config, v string) string { c.StrTruncTrailer = v; return "" },
	},
	unstableSetting("unstable_import_statement", func(c *Config) *string { return &c.UnstableImport }),
	unstableSetting("unstable_tseries", func(c *Config) *string { return &c.UnstableTSeries }),
	unstableSetting("unstable_typeinfo", func(c *Config) *string { return &c.UnstableTypeinfo }),
	unstableSetting("unstable_dw_ustack", func(c *Config) *string { return &c.UnstableDwUstack }),
	{
		name: "missing_probes",
		get:  func(c *Config) any { return c.MissingProbes },
		set: func(c *Config, v string) string {
			switch w := strings.ToLower(v); w {
			case "ignore", "warn", "error":
				c.MissingProbes = w
				return ""
			}
			return "missing_probes: Invalid value for missing_probes: valid values are ignore, warn, and error."
		},
	},
	{
		name: "stack_mode",
		get:  func(c *Config) any { return stackModeName(c.StackMode) },
		set: func(c *Config, v string) string {
			m, ok := parseStackMode(v)
			if !ok {
				return "stack_mode: Invalid value for stack_mode: valid values are bpftrace, raw, perf, and build_id."
			}
			c.StackMode = m
			return ""
		},
	},
	{
		name: "license",
		get:  func(c *Config) any { return c.License },
		set: func(c *Config, v string) string {
			for _, l := range licenses {
				if v == l {
					c.License = v
					return ""
				}
			}
			return "Invalid value for license. Found: " + v + ". Valid values: " + strings.Join(licenses, ", ") +
				". Read more about BPF programs and licensing: " +
				"https://docs.kernel.org/bpf/bpf_licensing.html#using-bpf-programs-in-the-linux-kernel"
		},
	},
	{
		name: "cache_user_symbols",
		get:  func(c *Config) any { return c.CacheUserSymbols },
		set: func(c *Config, v string) string {
			switch w := strings.ToUpper(v); w {
			case "1": // the default
			case "PER_PID", "PER_PROGRAM":
				c.CacheUserSymbols = w
			case "NONE", "0":
				c.CacheUserSymbols = "NONE"
			default:
				return "cache_user_symbols: Invalid value for cache_user_symbols: valid values are PER_PID, " +
					"PER_PROGRAM, and NONE."
			}
			return ""
		},
	},
}

// licenses that the kernel takes as compatible with its own (include/linux/license.h).
var licenses = []string{"Dual MIT/GPL", "Dual BSD/GPL", "Dual MPL/GPL", "GPL and additional rights", "GPL v2", "GPL"}

var renamedSettings = map[string]string{
	"strlen": "max_strlen", "no_cpp_demangle": "cpp_demangle", "cat_bytes_max": "max_cat_bytes",
	"map_keys_max": "max_map_keys",
}

// Settings that once did something.
var deadSettings = map[string]bool{
	"symbol_source": true, "max_type_res_iterations": true, "unstable_addr": true, "unstable_import": true,
	"unstable_macro": true, "unstable_map_decl": true,
}

var envOnlySettings = map[string]bool{"btf": true, "kernel_build": true, "kernel_source": true, "vmlinux": true}

func boolSetting(name string, at func(*Config) *bool) setting {
	return setting{name, func(c *Config) any { return *at(c) }, func(c *Config, v string) string {
		switch b, ok := parseBool(v); {
		case ok:
			*at(c) = b
		default:
			// A number is true unless it is 0.
			n, err := strconv.ParseUint(v, 0, 64)
			if err != nil {
				return name + ": Invalid bool value: valid values are true, false, 1 or 0."
			}
			*at(c) = n != 0
		}
		return ""
	}}
}

// parseBool reads true, 1, false and 0.
func parseBool(v string) (value, ok bool) {
	switch strings.ToLower(v) {
	case "true", "1":
		return true, true
	case "false", "0":
		return false, true
	}
	return false, false
}

func intSetting(name string, at func(*Config) *int) setting {
	return setting{name, func(c *Config) any { return *at(c) }, func(c *Config, v string) string {
		n, err := strconv.ParseUint(v, 0, 31)
		if err != nil {
			return name + ": expecting a number, got " + v
		}
		*at(c) = int(n)
		return ""
	}}
}

func unstableSetting(name string, at func(*Config) *string) setting {
	return setting{name, func(c *Config) any { return *at(c) }, func(c *Config, v string) string {
		b, isBool := parseBool(v)
		switch w := strings.ToLower(v); {
		case w == "enable" || isBool && b:
			*at(c) = "enable"
		case w == "warn":
			*at(c) = "warn"
		case w == "error" || isBool:
			*at(c) = "error"
		default:
			return name + ": Invalid value for unstable config: valid values are enable, warn, and error."
		}
		return ""
	}}
}

// DefaultConfig holds every setting's default.
func DefaultConfig() Config {
	return Config{
		MaxStrlen: 1024, MaxNestedDepth: 4, MaxMapKeys: 4096, MaxBPFProgs: 1024, MaxCatBytes: 10240, OnStackLimit: 32,
		LogSize: 1000000, StackMode: types.StackBpftrace, StrTruncTrailer: "..", PrintMapsOnExit: true,
		MissingProbes: "error", License: "GPL", CPPDemangle: true, CPPParams: true, LazySymbols: true, UseBlazesym: true,
		FilterTarget:     true,
		ShowDebugInfo:    true,
		CacheUserSymbols: "PER_PID",
		UnstableTSeries:  "warn", UnstableDwUstack: "warn", UnstableTypeinfo: "error", UnstableImport: "error",
	}
}

// ReadConfig is the configuration of a script: the defaults (with a command, names of its files are kept by program),
// its
// config block, in which the last word counts, then the settings from outside, by name. It is the only reader of
// settings:
// what needs them before the script is checked takes them from here, and Check in Input.Config.
func ReadConfig(file *syntax.File, outside map[string]string, command bool, diags *diag.List) Config {
	cfg := DefaultConfig()
	if command {
		cfg.CacheUserSymbols = "PER_PROGRAM"
	}
	for _, e := range file.Config {
		if deadSettings[e.Name] {
			diags.Warnf(e.Span, "%s is deprecated and has no effect", e.Name)
			continue
		}
		name, value := e.Name, e.Value
		if now, ok := renamedSettings[name]; ok {
			diags.Warnf(e.Span, "%s has been renamed, please use %s", name, now)
			name, value = renamed(name, value)
		}
		s := settingNamed(name)
		switch {
		case s != nil:
			if problem := s.set(&cfg, value); problem != "" {
				diags.Errorf(e.Span, "%s", problem)
			}
		case envOnlySettings[name]:
			diags.Errorf(e.Span, "%s: can only be set as an environment variable", name)
		default:
			d := diags.Errorf(e.Span, "%s: not a known configuration option", name)
			names := make([]string, len(settings))
			for i, s := range settings {
				names[i] = s.name
			}
			hintNear(d, name, names)
		}
	}
	// Names that mean nothing here may mean something to another program, or another version: bpftrace's variables.
	for _, old := range sorted(slices.Collect(maps.Keys(outside))) {
		name, value := renamed(old, outside[old])
		s := settingNamed(name)
		if _, both := outside[name]; s == nil || both && name != old {
			continue
		}
		if problem := s.set(&cfg, value); problem != "" {
			diags.Errorf(noSpan, "%s", problem)
		}
	}
	if cfg.MaxStrlen < 1 {
		cfg.MaxStrlen = 1
	}
	return cfg
}

// renamed is a setting by its name of today. What said no says yes now.
func renamed(name, value string) (now, its string) {
	now, ok := renamedSettings[name]
	switch b, isBool := parseBool(value); {
	case !ok:
		return name, value
	case strings.HasPrefix(name, "no_") && isBool:
		value = strconv.FormatBool(!b)
	}
	return now, value
}

func settingNamed(name string) *setting {
	for i := range settings {
		if settings[i].name == name {
			return &settings[i]
		}
	}
	return nil
}

// sorted is a sorted copy.
func sorted(names []string) []string {
	names = append([]string(nil), names...)
	sort.Strings(names)
	return names
}
