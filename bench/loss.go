package main

import "fmt"

// loss: one thread calls a function at its full rate; of a million lines that printf should write, how many are
// missing.
func loss(s *stage) ([]row, error) {
	r := row{what: "events lost of 1,000,000 printf at full rate", unit: "events", budget: "0"}
	if !s.wants(r.what) {
		return nil, nil
	}
	path, err := s.build("loss", "bench/fixtures/hits.c")
	if err != nil {
		return nil, err
	}
	s.each(r.what, func(t *tracer) error {
		lost, err := lostBy(t, path)
		r.values = append(r.values, lost)
		return err
	})
	return []row{r}, nil
}

func lostBy(t *tracer, path string) (value, error) {
	const calls = 1_000_000
	none := value{none: true}
	program, err := launch(path)
	if err != nil {
		return none, err
	}
	defer program.kill()
	script := fmt.Sprintf(`uprobe:%s:f_push { printf("%%d %%d\n", arg0, arg1); }`, path)
	session, err := t.trace(patience, "-q", "-e", script)
	if err != nil {
		return none, err
	}
	defer session.kill()
	if _, err := program.call("f_push", calls); err != nil {
		return none, err
	}
	if err := program.end(); err != nil {
		return none, err
	}
	if _, err := session.end(); err != nil {
		return none, err
	}
	return value{v: float64(calls - session.events)}, nil
}
