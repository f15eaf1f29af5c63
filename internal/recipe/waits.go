package recipe

// waits is a map of how long is waited, and its key, of what is kept of a wait ($wait).
type waits struct{ name, key string }

// waited adds a wait that ends now.
func (s *script) waited(w waits) {
	s.line("    $took = (uint64)((int64)nsecs - $wait.start);")
	if s.o.Min > 0 {
		s.line("    if ($took >= %d) {\n      %s[(%s)] = stats($took);\n    }", s.o.Min.Nanoseconds(), w.name, w.key)
	} else {
		s.line("    %s[(%s)] = stats($took);", w.name, w.key)
	}
}

// showWaits shows waits, now and then if that is asked for and at the end; open are the maps of those that go on.
func (s *script) showWaits(w waits, open ...string) {
	s.every(w.name)
	s.timer()
	s.line("\n// Those that still wait have waited until now.\nend\n{")
	for _, name := range open {
		s.line("  for ($kv : %s) {\n    $wait = $kv.1;", name)
		s.waited(w)
		s.line("  }")
	}
	s.line("  %s;\n}", s.printed(w.name))
}
