package cli

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

// page is what there is to say of one command, for its page of the manual and for the reference.
type page struct {
	name     string // "trocar trace"
	synopsis string
	short    string
	long     string // paragraphs; lines that begin with four blanks are examples
	flags    []pageFlag
}

type pageFlag struct{ name, value, text, def string }

// pages are those of all commands, in the order of the help. The first is the default command's, whose text is its
// help.
func (a *app) pages() []page {
	var text strings.Builder
	a.usage(&text)
	title, rest, _ := strings.Cut(text.String(), "\n")
	_, short, _ := strings.Cut(title, " - ")
	pages := []page{{name: a.name, short: short, long: strings.TrimPrefix(rest, "\n")}}
	for _, c := range commands() {
		pages = append(pages, pageOf(a.name, c.make(a)))
	}
	return pages
}

func pageOf(program string, cmd *cobra.Command) page {
	p := page{name: program + " " + cmd.Name(), synopsis: program + " " + cmd.Use, short: cmd.Short}
	_, long, ok := strings.Cut(cmd.Long, "\n\n") // the first paragraph is the short text
	if ok {
		p.long = long
	}
	cmd.Flags().VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		flag := pageFlag{name: "--" + f.Name, text: f.Usage}
		if f.Shorthand != "" {
			flag.name = "-" + f.Shorthand + ", " + flag.name
		}
		if f.Value.Type() != "bool" {
			flag.value = valueName(f)
		}
		if !slices.Contains([]string{"", "false", "0", "-1", "0s", "[]"}, f.DefValue) {
			flag.def = f.DefValue
		}
		p.flags = append(p.flags, flag)
	})
	return p
}

// valueName is what a flag's value is called.
func valueName(f *pflag.Flag) string {
	switch f.Name {
	case "pid":
		return "PID"
	case "cmd":
		return "COMMAND"
	case "output", "diff":
		return "FILE"
	case "exe":
		return "PATH"
	case "args", "result", "if", "by":
		return "EXPR"
	case "container", "comm", "type":
		return "NAME"
	case "vars":
		return "FUNC"
	case "linear":
		return "MIN,MAX,STEP"
	}
	switch f.Value.Type() {
	case "duration":
		return "TIME"
	case "int", "count":
		return "N"
	}
	if strings.HasSuffix(f.Name, "dir") || f.Name == "debuginfo" {
		return "DIR"
	}
	return strings.ToUpper(f.Name)
}

// WriteReference writes the page of the reference that has all commands, in Markdown.
func WriteReference(w io.Writer) error {
	var b strings.Builder
	b.WriteString("# Commands\n\nGenerated from the commands; `make generate` updates it.\n")
	for _, p := range (&app{name: "trocar"}).pages() {
		fmt.Fprintf(&b, "\n## %s\n\n%s.\n", p.name, p.short)
		if p.synopsis == "" {
			fmt.Fprintf(&b, "\n%s", indented(p.long))
			continue
		}
		fmt.Fprintf(&b, "\n    %s\n", p.synopsis)
		if p.long != "" {
			fmt.Fprintf(&b, "\n%s\n", strings.TrimSpace(escaped(p.long)))
		}
		if len(p.flags) > 0 {
			b.WriteString("\n| flag | |\n|---|---|\n")
			for _, f := range p.flags {
				name := f.name
				if f.value != "" {
					name += " " + f.value
				}
				text := f.text
				if f.def != "" {
					text += " (" + f.def + ")"
				}
				fmt.Fprintf(&b, "| `%s` | %s |\n", name, strings.ReplaceAll(text, "|", `\|`))
			}
		}
	}
	_, err := io.WriteString(w, b.String())
	return err
}

func indented(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.TrimSpace(line) != "" {
			b.WriteString("    ")
		}
		b.WriteString(line)
	}
	return b.String()
}

// escaped keeps text outside of examples from being taken for Markdown's marks.
func escaped(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if !strings.HasPrefix(line, "    ") {
			line = strings.NewReplacer("*", `\*`, "_", `\_`, "<", `\<`).Replace(line)
		}
		b.WriteString(line)
	}
	return b.String()
}

// manual is the page in the form of man(7).
func (p *page) manual() string {
	var b strings.Builder
	name := strings.ReplaceAll(p.name, " ", "-")
	fmt.Fprintf(&b, ".TH %s 1 \"\" \"trocar %s\"\n.SH NAME\n%s \\- %s\n",
		strings.ToUpper(roff(name)), version, roff(name), roff(p.short))
	if p.synopsis == "" {
		p.manualText(&b)
	} else {
		fmt.Fprintf(&b, ".SH SYNOPSIS\n.nf\n%s\n.fi\n.SH DESCRIPTION\n", roff(p.synopsis))
		b.WriteString(roffText(p.long, p.short))
	}
	if len(p.flags) > 0 {
		b.WriteString(".SH OPTIONS\n")
		for _, f := range p.flags {
			fmt.Fprintf(&b, ".TP\n.B %s\n", roff(strings.TrimSpace(f.name+" "+f.value)))
			text := f.text
			if f.def != "" {
				text += " (" + f.def + ")"
			}
			fmt.Fprintf(&b, "%s\n", roff(text))
		}
	}
	b.WriteString(".SH SEE ALSO\n")
	if p.synopsis == "" {
		b.WriteString("The manual pages of its commands, such as trocar\\-trace(1).\n")
	} else {
		b.WriteString("trocar(1)\n")
	}
	return b.String()
}

// manualText turns the help of the default command into sections: a title ends with a colon and is not indented.
func (p *page) manualText(b *strings.Builder) {
	open := false
	for line := range strings.Lines(p.long) {
		line = strings.TrimSuffix(line, "\n")
		if title, ok := strings.CutSuffix(line, ":"); ok && !strings.HasPrefix(line, " ") {
			if open {
				b.WriteString(".fi\n")
			}
			fmt.Fprintf(b, ".SH %s\n.nf\n", roff(strings.ToUpper(title)))
			open = true
			continue
		}
		fmt.Fprintf(b, "%s\n", roff(strings.TrimPrefix(line, "    ")))
	}
	if open {
		b.WriteString(".fi\n")
	}
}

// roffText sets paragraphs, and examples as they are.
func roffText(text, short string) string {
	if strings.TrimSpace(text) == "" {
		return roff(short) + ".\n"
	}
	var b strings.Builder
	example := false
	for line := range strings.Lines(strings.TrimSpace(text) + "\n") {
		line = strings.TrimSuffix(line, "\n")
		in := strings.HasPrefix(line, "    ")
		switch {
		case in && !example:
			b.WriteString(".PP\n.RS 4\n.nf\n")
		case !in && example:
			b.WriteString(".fi\n.RE\n")
		}
		example = in
		if line == "" {
			b.WriteString(".PP\n")
			continue
		}
		fmt.Fprintf(&b, "%s\n", roff(strings.TrimPrefix(line, "    ")))
	}
	if example {
		b.WriteString(".fi\n.RE\n")
	}
	return b.String()
}

// roff escapes a line of text: backslashes, hyphens that are minus signs, and what would be a request at its beginning.
func roff(line string) string {
	line = strings.NewReplacer(`\`, `\e`, "-", `\-`, "…", `\[u2026]`).Replace(line)
	if strings.HasPrefix(line, ".") || strings.HasPrefix(line, "'") {
		line = `\&` + line
	}
	return line
}
