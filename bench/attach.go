package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// functions is how many functions the program for attachMany has.
const functions = 30_000

// manyPatience is how long a tracer may take for that many: without links of many uprobes it is a call for each.
const manyPatience = 60 * time.Second

// attachMany: from exec until a probe stands on each of 30,000 functions of a running program, from the signal until
// the tracer has ended; and that the program still runs at its full speed after that.
func attachMany(s *stage) ([]row, error) {
	attach := row{what: "exec until 30,000 functions are attached", unit: "ms", budget: "200 ms"}
	detach := row{what: "signal until detached and ended", unit: "ms", budget: "200 ms"}
	if !s.wants(attach.what, detach.what) {
		return nil, nil
	}
	var text strings.Builder
	text.WriteString("#include <stdio.h>\n")
	for i := range functions {
		fmt.Fprintf(&text, "int many_%d(int a) { return a + %d; }\n", i, i)
	}
	text.WriteString("int main(void) { puts(\"ready\"); fflush(stdout); return getchar() == EOF ? 0 : many_1(2); }\n")
	source := filepath.Join(s.dir, "many.c")
	if err := os.WriteFile(source, []byte(text.String()), 0o644); err != nil {
		return nil, err
	}
	path, err := s.build("many", "-fno-omit-frame-pointer", source)
	if err != nil {
		return nil, err
	}
	program, err := launch(path)
	if err != nil {
		return nil, err
	}
	defer program.kill()
	script := fmt.Sprintf("config = { max_probes = 100000 } uprobe:%s:many_* { @ = count(); }", path)
	s.each(attach.what, func(t *tracer) error {
		attached, detached := value{none: true}, value{none: true}
		defer func() {
			attach.values = append(attach.values, attached)
			detach.values = append(detach.values, detached)
		}()
		for range min(s.rounds, 3) {
			session, err := t.trace(manyPatience, "-q", "-e", script)
			if err != nil {
				return err
			}
			ended, err := session.end()
			session.kill()
			if err != nil {
				return err
			}
			attached, detached = attached.best(float64(session.attached)/1e6), detached.best(float64(ended)/1e6)
		}
		return nil
	})
	return s.keep(attach, detach), program.end()
}
