package docs

import (
	"flag"
	"fmt"
	"os"
	"strings"
	"testing"

	"trocar/internal/compile/builtin"
	"trocar/internal/ui/cli"
)

var update = flag.Bool("update", false, "write the pages")

// TestBuiltins: builtins.md says what the table of builtins says.
func TestBuiltins(t *testing.T) {
	const page = "builtins.md"
	want := builtins()
	if *update {
		if err := os.WriteFile(page, []byte(want), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want {
		t.Errorf("%s is not what the table of builtins says; run: make generate", page)
	}
}

// TestCommands: commands.md says what the commands say of themselves.
func TestCommands(t *testing.T) {
	const page = "commands.md"
	var want strings.Builder
	if err := cli.WriteReference(&want); err != nil {
		t.Fatal(err)
	}
	if *update {
		if err := os.WriteFile(page, []byte(want.String()), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	got, err := os.ReadFile(page)
	if err != nil {
		t.Fatal(err)
	}
	if string(got) != want.String() {
		t.Errorf("%s is not what the commands say of themselves; run: make generate", page)
	}
}

func builtins() string {
	var b strings.Builder
	b.WriteString("# Builtin variables and functions\n\nGenerated from the table in internal/compile/builtin; `make " +
		"generate` updates it.\n")
	group := ""
	for _, f := range builtin.All() {
		if title := f.Group.String(); title != group {
			group = title
			fmt.Fprintf(&b, "\n## %s\n", group)
		}
		fmt.Fprintf(&b, "\n### %s\n\n", f.Names[0])
		for _, signature := range f.Variants {
			fmt.Fprintf(&b, "    %s\n", signature)
		}
		fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(f.Doc))
		var marks []string
		if len(f.Names) > 1 {
			marks = append(marks, "Also written "+strings.Join(f.Names[1:], ", ")+".")
		}
		if f.Async {
			marks = append(marks, "Carried out in user space, when the event arrives there.")
		}
		if f.Unsafe {
			marks = append(marks, "Needs `--unsafe`.")
		}
		if len(marks) > 0 {
			fmt.Fprintf(&b, "\n%s\n", strings.Join(marks, " "))
		}
	}
	return b.String()
}
