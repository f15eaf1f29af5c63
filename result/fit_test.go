package result

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestFit(t *testing.T) {
	for _, c := range []struct {
		width    int
		text, at string
	}{
		{10, "ab\ncdefghij\n", "ab\ncdefghij\n"},
		{20, "  12  a::very_long_name_without_brackets\n", "  12  a::very…ackets\n"},
		{40, "std::map<int, std::basic_string<char> >::insert(int const&)", "std::map<int, …ar> >::insert(int const&)"},
		{30, "std::map<int, std::basic_string<char> >::insert(int const&)", "std::map<…>::insert(int …nst&)"},
		{34, "f(anonymous=\"text\", other=12) = -ENOENT <12 us>", "f(anonym…her=12) = -ENOENT <12 us>"},
		{30, "(anonymous namespace)::longer_than_that(x)", "(anonymous name…r_than_that(x)"},
		{30, "a::operator<<(std::ostream&, std::string const&)", "a::operator<<(std::os… const&)"},
		{24, "a::operator->(long_argument_1, long_argument_2)", "a::operator->(long…nt_2)"},
		{34, "std::map<int, std::string>::insert [.constprop.0]", "std::map<…>::insert [.constprop.0]"},
		{20, "unbalanced(((((((((((((((name", "unbalanced…(((((name"},
		{12, "äöüäöüäöüäöüäöü\n", "äöüäöü…öüäöü\n"},
	} {
		got, cut := Fit(nil, c.text, c.width)
		if string(got) != c.at || cut != (c.at != c.text) {
			t.Errorf("%q in %d: %q, %v, want %q", c.text, c.width, got, cut, c.at)
		}
	}
}

// TestFitted: rows of tables have at most the width, and names are whole where they fit.
func TestFitted(t *testing.T) {
	long := "space::Class<std::string, std::allocator<char> >::method_of_it"
	key := func(names ...string) *Value {
		v := &Value{Kind: Record}
		for _, n := range names {
			v.Elems, v.Names = append(v.Elems, Value{Kind: String, Text: n}), append(v.Names, "function")
		}
		return v
	}
	table := func(names ...string) *Map {
		m := &Map{Name: "@calls", Keyed: true, Entries: []Entry{
			{Key: key(names...), Value: Value{Kind: Uint, Size: 8, Num: 12345678}},
			{Key: key(append([]string{"main"}, names[1:]...)...), Value: Value{Kind: Uint, Size: 8, Num: 7}},
		}}
		if !m.Tabulate(0, 0) {
			t.Fatal("no table")
		}
		return m
	}
	for _, c := range []struct {
		names []string
		width int
		cut   bool
		want  string
	}{
		{[]string{long}, 80, false, "  " + long + "\n"},
		{[]string{long}, 60, true, "  space::Class<std::string…tor<char> >::method_of_it\n"},
		{[]string{long}, 36, true, "\n    space::Class<…>::method_of_it\n"},
		{[]string{long, long}, 80, true, "…"},
		{[]string{"dispatch_command", "select * from a"}, 40, false, "\n    dispatch_command  select * from a\n"},
		{[]string{"dispatch_command", "select"}, 40, false, "12345678  dispatch_command  select\n"},
	} {
		got, cut := table(c.names...).AppendFitted(nil, c.width)
		if cut != c.cut || !strings.Contains(string(got), c.want) {
			t.Errorf("%d columns: %v\n%s, want %q", c.width, cut, got, c.want)
		}
		for line := range strings.Lines(string(got)) {
			if n := utf8.RuneCountInString(strings.TrimSuffix(line, "\n")); n > c.width {
				t.Errorf("%d columns: %q has %d", c.width, line, n)
			}
		}
	}
}

// TestFittedStacks: what has several lines stays below, wherever it stands among what does not fit.
func TestFittedStacks(t *testing.T) {
	stack := "\n        work+0\n        main+1"
	for _, cells := range [][]string{
		{"work", stack, "one two three", "four five six"},
		{"work", "one two three", "four five six", stack},
		{"work", "one two three", stack, "four five six"},
		{stack, "work", "one two three", "four five six"},
	} {
		rows := [][]string{{"calls", "a", "b", "c", "d"}, append([]string{"1"}, cells...)}
		narrow(rows, 1, 40)
		got := string(appendRows(nil, rows, 1))
		for _, part := range []string{"    work  ", "one two three", "four five six", "work+0", "main+1"} {
			if n := strings.Count(got, part); n != 1 {
				t.Errorf("%q: %d times %q in\n%s", cells, n, part, got)
			}
		}
		if !strings.HasSuffix(got, stack+"\n") {
			t.Errorf("%q: the stack is not last in\n%s", cells, got)
		}
	}
}

func TestFold(t *testing.T) {
	for _, c := range []struct{ text, at string }{
		{"WARNING: 12\n", "WARNING: 12\n"},
		{"WARNING: 123456\n", "WARNING:\n123456\n"},
		{"INFO: a b c d e f g h\nnext\n", "INFO: a b c\nd e f g h\nnext\n"},
		{"/a/long/path/of/a/file is not there\n", "/a/long/path/of/a/file\nis not there\n"},
		{"a         b", "a         b"},
		{"\x1b[1;33mWARNING\x1b[0m: 12\n", "\x1b[1;33mWARNING\x1b[0m: 12\n"},
	} {
		if got := string(Fold(nil, c.text, 12)); got != c.at {
			t.Errorf("%q: %q, want %q", c.text, got, c.at)
		}
	}
}
