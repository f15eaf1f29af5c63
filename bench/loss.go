package main

import "fmt"

// loss: one thread calls a function at its full rate; of a million lines that printf should write, how many are missing.
func loss(s *stage) ([]row, error) {
	const calls = 1_000_000
	path, err := s.build("loss", "bench/fixtures/hits.c")
	if err != nil {
		return nil, err
	}
	r := row{what: "events lost of 1,000,000 printf at full rate", unit: "events", budget: "0"}
	for _, t := range s.tracers {
		program, err := launch(path)
		if err != nil {
			return nil, err
		}
		session, err := t.trace("-q", "-e", fmt.Sprintf(`uprobe:%s:f_push { printf("%%d %%d\n", arg0, arg1); }`, path))
		if err != nil {
			return nil, err
		}
		if _, err := program.call("f_push", calls); err != nil {
			return nil, err
		}
		if err := program.end(); err != nil {
			return nil, err
		}
		if _, err := session.end(); err != nil {
			return nil, err
		}
		r.values = append(r.values, value{v: float64(calls - session.events)})
	}
	return []row{r}, nil
}
